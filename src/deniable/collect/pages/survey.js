import"./survey-chunk.js";
