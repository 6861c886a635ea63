/** Shows a question only to people to whom it applies. Nobody sees in the report who skipped one. */

/** A question, what it says now, and to whom it applies. */
export interface Followed {
  readonly name: string;
  readonly element: HTMLElement;
  readonly onlyIf: { readonly name: string; readonly values: readonly string[] } | null;
  read(): string | readonly string[] | null | undefined;
}

/** Hide what does not apply now, and whenever an answer changes; `changed` hears that something did. */
export function follow(form: HTMLElement, items: readonly Followed[], changed: () => void): void {
  const byName = new Map(items.map((item) => [item.name, item]));
  const applies = ({ onlyIf }: Followed): boolean => {
    if (onlyIf === null) return true;
    const parent = byName.get(onlyIf.name);
    if (!parent || !applies(parent)) return false;
    const answer = parent.read() ?? [];
    return [answer].flat().some((value) => onlyIf.values.includes(value));
  };
  const update = (): void => {
    for (const item of items) item.element.hidden = !applies(item);
    changed();
  };
  form.addEventListener("change", update, true); // also where an event does not bubble
  update();
}
