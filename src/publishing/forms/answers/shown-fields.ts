import type { FormDefinition, FormField } from '../file/index.js';

/** The fields that are shown to who has answered so. One that depends on a field that is not shown is not shown either. */
export function shownFields(
  { fields }: Pick<FormDefinition, 'fields'>,
  valuesOf: (id: string) => readonly string[],
): FormField[] {
  const shown = new Map<string, FormField>();
  for (const field of fields) {
    const { showIf } = field;
    const asked = showIf && shown.get(showIf.field);
    if (!showIf || (asked && holds(showIf.is, answered(asked, valuesOf(asked.id)))))
      shown.set(field.id, field);
  }
  return [...shown.values()];
}

const holds = (is: readonly string[] | null, answers: readonly string[]): boolean =>
  is === null ? answers.some(one => one !== 'false') : answers.some(one => is.includes(one));

/** A checkbox that is not ticked sends nothing. */
function answered({ type }: FormField, values: readonly string[]): readonly string[] {
  if (type === 'checkbox') return [String(values.some(value => value !== 'false'))];
  return type === 'choices' ? values : values.slice(0, 1);
}
