import"./dashboard-chunk.js";
