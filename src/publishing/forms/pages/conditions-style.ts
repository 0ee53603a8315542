import type { FormDefinition, FormField } from '../file/index.js';
import { conditionalId, controlIds } from './field-html.js';

/**
 * CSS that hides fields while their condition does not hold: pages of forms run no scripts. Options are named by their places, so
 * that no text of a form is in it. Browsers without `:has()` show all fields; what is not asked is dropped when it is received.
 */
export function conditionsStyle({ fields }: FormDefinition): string {
  const byId = new Map(fields.map(field => [field.id, field]));
  const rules = fields.flatMap(field =>
    unmet(field, byId).map(state => `${state} #${conditionalId(field.id)}`),
  );
  return rules.length > 0 ? `@supports selector(:has(a)){${rules.join(',')}{display:none}}\n` : '';
}

/** Selectors of the form while a field is hidden: its own condition is not met, or one that this depends on. */
function unmet({ showIf }: FormField, fields: ReadonlyMap<string, FormField>): string[] {
  const asked = showIf && fields.get(showIf.field);
  if (!showIf || !asked) return [];
  const before = unmet(asked, fields);
  const ids = controlIds(asked);
  if (asked.type === 'checkbox') {
    const ticked = `.fields:has(#${ids[0]}:checked)`;
    const values = showIf.is ?? ['true'];
    if (values.length > 1) return before;
    return [...before, values[0] === 'true' ? `.fields:not(:has(#${ids[0]}:checked))` : ticked];
  }
  const chosen = ids
    .filter((_, index) => showIf.is?.includes(asked.options[index]?.id ?? String(index + 1)) ?? true)
    .map(id => `#${id}:checked`);
  return [...before, `.fields:not(:has(${chosen.join(',')}))`];
}
