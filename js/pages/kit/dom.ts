/** Makes elements in one line. Nothing here sets a style: the security policy allows only the stylesheet. */

export type Child = Node | string | null | undefined | false | readonly Child[];
type Property = string | number | boolean | null | undefined | ((event: Event) => void);
type Properties = Readonly<Record<string, Property>>;

/** An element with attributes (those that are false or absent are left out), listeners and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  dress(element, properties);
  append(element, children);
  return element;
}

/** An element of a drawing, with attributes, listeners and children. */
export function svg(tag: string, properties: Properties, ...children: readonly Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, properties);
  append(element, children);
  return element;
}

function dress(element: Element, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child as Node | string);
  }
}

/** A text that somebody else wrote: whichever way it is read, what is around it stays in its place. */
export function quoted(text: string): HTMLElement {
  return h("bdi", {}, text);
}

/** The element of the page with this id. */
export function find(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement;
}

/** Say something to people who do not see the page change. */
export function announce(text: string): void {
  find("status").textContent = text;
}

/** Hand a file to the browser, which keeps it where it keeps downloads. */
export function handOver(file: Blob, name: string): void {
  const link = h("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  announce(`${name} was downloaded.`);
}

/** The link past the header; the address stays as it is. */
export function skipping(): void {
  document.querySelector<HTMLAnchorElement>("a.skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector("main")?.focus();
  });
}

/** Once what was put on the page can be seen. */
export function seen(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 1000); // a page that is not seen draws no frame
  });
}
