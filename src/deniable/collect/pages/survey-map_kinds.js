import{b as r}from"./survey-shared-3.js";import"./survey-chunk.js";export{r as readMaps};
