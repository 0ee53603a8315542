import type { FieldDef } from 'pg';

type Parse = (text: string) => unknown;
type Make = (values: readonly unknown[]) => object;

/** What knows how values of a type are read. */
export interface Types {
  getTypeParser(oid: number, format?: 'text'): Parse;
}

/** How the rows of a statement look: made once, with a function that makes each row. */
export class RowShape {
  readonly parsers: readonly Parse[];
  readonly make: Make;

  constructor(
    readonly fields: readonly FieldDef[],
    types: Types,
  ) {
    this.parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'));
    this.make = makerOf(fields.map(({ name }) => name));
  }
}

/** A literal with these names is made many times as fast as an object that gets them one by one. */
function makerOf(names: readonly string[]): Make {
  const parts = names.map((name, at) => {
    const quoted = JSON.stringify(name);
    // Without the brackets it would set the prototype.
    return `${name === '__proto__' ? `[${quoted}]` : quoted}: values[${at}]`;
  });
  return new Function('values', `return { ${parts.join(', ')} }`) as Make;
}
