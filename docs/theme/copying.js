// Copies what is typed: the button of an example leaves out prompts and what was printed.
const PROMPTS = [/^(?:>>>|\.\.\.) ?/, /^\$ /];

for (const code of document.querySelectorAll(".highlight code")) {
  const lines = code.textContent.split("\n");
  const prompt = PROMPTS.find((one) => one.test(lines[0]));
  if (prompt !== undefined) {
    const typed = lines.filter((line) => prompt.test(line)).map((line) => line.replace(prompt, ""));
    code.dataset.copy = typed.join("\n");
  }
}
