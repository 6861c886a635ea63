import{b as r}from"./survey-shared-5.js";import"./survey-chunk.js";export{r as readMaps};
