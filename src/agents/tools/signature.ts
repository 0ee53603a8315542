interface Schema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** The fields of an input in a line, but `without` some: `path, mode?: public|link, tags?: string[]`. Text goes without its type. */
export function signatureOf(
  { properties = {}, required = [] }: Schema,
  without: readonly string[] = [],
): string {
  const fields = Object.entries(properties).filter(([name]) => !without.includes(name));
  const shown = fields.map(([name, field]) => {
    const type = typeOf(field);
    return `${name}${required.includes(name) ? '' : '?'}${type === '' ? '' : `: ${type}`}`;
  });
  return shown.join(', ');
}

function typeOf({ type, enum: values, anyOf, items, properties, required }: Schema): string {
  if (values) return values.filter(value => value !== null).join('|');
  if (anyOf) {
    const types = anyOf.filter(one => one.type !== 'null').map(one => typeOf(one) || 'string');
    return types.join('|') === 'string' ? '' : types.join('|');
  }
  if (items) return `${typeOf(items) || 'string'}[]`;
  if (properties) return `{${signatureOf({ properties, required })}}`;
  const [kind = ''] = [type].flat().filter(one => one !== 'null');
  return kind === 'string' ? '' : String(kind);
}
