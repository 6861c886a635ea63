/** Shows a question only to people to whom it applies. Nobody sees in the report who skipped one. */

/** A question, what it says now, and to whom it applies. */
export interface Followed {
  readonly name: string;
  readonly element: HTMLElement;
  readonly onlyIf: { readonly name: string; readonly values: readonly string[] } | null;
  read(): string | readonly string[] | null | undefined;
}

/** Hide what does not apply now, and whenever an answer changes; `changed` hears that something did. */
export function follow(form: HTMLElement, asked: readonly Followed[], changed: () => void): void {
  const byName = new Map(asked.map((one) => [one.name, one]));
  const applies = ({ onlyIf }: Followed): boolean => {
    if (onlyIf === null) return true;
    const parent = byName.get(onlyIf.name);
    if (!parent || !applies(parent)) return false;
    const answer = parent.read() ?? [];
    return [answer].flat().some((one) => onlyIf.values.includes(one));
  };
  const update = (): void => {
    for (const one of asked) one.element.hidden = !applies(one);
    changed();
  };
  form.addEventListener("change", update, true); // also where an event does not bubble
  update();
}
