type Test = (value: unknown) => boolean;

const isText: Test = value => typeof value === 'string';
const isNumber: Test = value => typeof value === 'number';
const isTruth: Test = value => typeof value === 'boolean';
const isList: Test = value => Array.isArray(value);
const isAnything: Test = () => true;
const isListOf = (test: Test) => (value: unknown) => Array.isArray(value) && value.every(test);
const isCount: Test = value => Number.isInteger(value) && (value as number) >= 0;

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const isType: Test = value => TYPES.includes(value as string);

/** By each of these, a check takes time in proportion to the value: no patterns, no references, no choices. */
const KEYWORDS: Readonly<Record<string, Test>> = {
  ...{ $schema: isText, $comment: isText, title: isText, description: isText, format: isText },
  ...{ default: isAnything, examples: isList, const: isAnything, enum: isList },
  type: value => isType(value) || isListOf(isType)(value),
  ...{ minimum: isNumber, maximum: isNumber, exclusiveMinimum: isNumber, exclusiveMaximum: isNumber },
  ...{ minLength: isCount, maxLength: isCount, minItems: isCount, maxItems: isCount },
  required: isListOf(isText),
  properties: value => isRecord(value) && Object.values(value).every(isPlain),
  items: value => isPlain(value),
  additionalProperties: value => isTruth(value) || isPlain(value),
};

/** Whether values are checked by this schema in time that grows with them alone. */
export function isPlain(schema: unknown): boolean {
  return (
    isRecord(schema) &&
    Object.entries(schema).every(
      ([keyword, value]) => Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword]?.(value),
    )
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const MAX_CHARACTERS = 16_384;
const MAX_VALUES = 1_000;

/** Whether there is so little in a value that walking through it takes no time to speak of. */
export function isSmall(value: unknown): boolean {
  let [characters, values] = [0, 0];
  for (const left = [value]; left.length > 0; ) {
    const one = left.pop();
    if (typeof one === 'string') characters += one.length;
    else if (typeof one === 'object' && one !== null)
      for (const [name, inner] of Object.entries(one)) {
        characters += name.length;
        if (++values > MAX_VALUES) return false;
        left.push(inner);
      }
    if (characters > MAX_CHARACTERS) return false;
  }
  return true;
}
