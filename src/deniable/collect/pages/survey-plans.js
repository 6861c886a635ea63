import{a,b}from"./survey-shared-1.js";import"./survey-chunk.js";export{b as joined,a as showPlans};
