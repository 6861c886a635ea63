import{b as r}from"./survey-shared-4.js";import"./survey-chunk.js";export{r as readMaps};
