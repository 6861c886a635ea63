import{a,b,c,d,e}from"./survey-shared-4.js";import"./survey-chunk.js";export{e as exceptKnown,a as groupsIn,d as hintKnown,b as knownAnswers,c as showKnown};
