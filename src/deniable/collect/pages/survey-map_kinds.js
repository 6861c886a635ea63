import{b as r}from"./survey-shared-2.js";import"./survey-chunk.js";export{r as readMaps};
