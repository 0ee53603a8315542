import type { YamlMapping } from '../../../workspaces/yaml-files/index.js';
import { type FormCondition, type FormField, LIMITS } from './form-definition.js';

/** Fields whose state the style sheet of a page can ask for, so that conditions hold without scripts. */
const ASKED_TYPES = ['choice', 'choices', 'checkbox', 'rating'];

/** Reads when a field is shown, which depends on a field before it; undefined: always, or with a finding. */
export function readCondition(field: YamlMapping, before: readonly FormField[]): FormCondition | undefined {
  const condition = field.mapping('show_if');
  if (!condition) return undefined;
  condition.expect(['field', 'is']);
  const id = condition.text('field', 100) ?? '';
  const asked = before.find(one => one.id === id);
  if (!asked)
    return condition.error('field', 'must be the id of a field before this one', knownIds(before) || null);
  if (!ASKED_TYPES.includes(asked.type))
    return condition.error('field', `must be a field of the type ${ASKED_TYPES.join(', ')}`);
  if (countDepth(asked, before) >= LIMITS.conditionDepth)
    return condition.error('field', `depends on more than ${LIMITS.conditionDepth} fields, one on the other`);
  const is = condition.has('is') ? condition.texts('is', LIMITS.conditionValues) : null;
  if (is?.length === 0) return condition.error('is', 'has no value', 'Leave it out where any answer will do');
  const known = listValues(asked);
  const unknown = is?.find(value => !known.includes(value));
  if (unknown !== undefined)
    return condition.error(
      'is',
      `has "${unknown}", which cannot be answered`,
      `There are ${known.join(', ')}`,
    );
  return { field: id, is };
}

const knownIds = (fields: readonly FormField[]): string => {
  const ids = fields.filter(({ type }) => ASKED_TYPES.includes(type)).map(({ id }) => id);
  return ids.length > 0 ? `There are ${ids.slice(0, 20).join(', ')}` : '';
};

function listValues({ type, options, max }: FormField): string[] {
  if (type === 'checkbox') return ['true', 'false'];
  if (type === 'rating') return Array.from({ length: Number(max) }, (_, n) => String(n + 1));
  return options.map(({ id }) => id);
}

/** On how many fields it depends, one on the other. */
function countDepth({ showIf }: FormField, fields: readonly FormField[]): number {
  const asked = showIf && fields.find(({ id }) => id === showIf.field);
  return asked ? 1 + countDepth(asked, fields) : 0;
}
