import{a,b}from"./survey-shared-2.js";import"./survey-chunk.js";export{b as joined,a as showPlans};
