import{a,b,c}from"./survey-shared-1.js";import"./survey-chunk.js";export{b as joined,c as promises,a as showPlans};
