/** Makes the survey a preview, on the design page only: nothing is stored, and nothing is sent. */

/** Whether the page is a preview, as the design page says of it. */
const isPreview = (): boolean => document.documentElement.hasAttribute("data-preview");

/** Keep a preview from storing and sending; everything else is the survey itself. */
export function preparePreview(): void {
  if (!isPreview()) return;
  const texts = new Map<string, string>();
  const memory: Storage = {
    get length() {
      return texts.size;
    },
    clear: () => texts.clear(),
    getItem: (key) => texts.get(key) ?? null,
    key: (index) => [...texts.keys()][index] ?? null,
    removeItem: (key) => void texts.delete(key),
    setItem: (key, text) => void texts.set(key, String(text)),
  };
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { value: memory });

  const refusal = JSON.stringify({ reason: "preview", detail: "This is a preview: nothing is sent." });
  const ask = window.fetch.bind(window);
  window.fetch = async (input, init) =>
    (init?.method ?? "GET") === "GET"
      ? ask(input, init)
      : new Response(refusal, { status: 403, headers: { "content-type": "application/json" } });
}
