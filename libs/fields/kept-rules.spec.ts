import { describe, expect, it } from '@jest/globals';
import { IsInt, IsOptional, ValidateIf, validateSync } from 'class-validator';
import fc from 'fast-check';
import { fieldsWith } from './field.js';
import { keepsRules } from './kept-rules.js';

const Field = fieldsWith(name => `id of ${name}`);

class Inner {
  @Field.text('A name', { example: 'x' })
  name: string;
}

class Base {
  @Field.id('Which')
  id: string;
}

class Flat extends Base {
  @Field.integer('How many', { min: 1, max: 10, optional: true, example: 1 })
  limit?: number;

  @Field.text('Tags', { optional: true, list: true, maxItems: 2, example: ['a'] })
  tags?: string[];

  @Field.text('May be null', { optional: true, nullable: true, example: 'x' })
  note?: string | null;

  @Field.json('Anything', { optional: true })
  anything?: unknown;

  @IsOptional()
  @ValidateIf(({ limit }: Flat) => limit !== 3)
  @IsInt({ each: true })
  numbers?: unknown;
}

class Nested extends Flat {
  @Field.object('One inside', () => Inner, { optional: true })
  inner?: Inner;
}

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const of = <T extends object>(shape: new () => T, values: object) =>
  Object.assign(Object.create(shape.prototype) as T, values);
const findings = (instance: object) =>
  validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });

describe('whether an instance keeps its rules', () => {
  it('is known as class-validator has it, of any values', () => {
    const some = fc.oneof(
      fc.constantFrom(ID, 'text', '', '\0', 0, 1, 3, 10, 11, 1.5, true, null, undefined),
      fc.array(fc.constantFrom('a', '', 1, 2, null, undefined), { maxLength: 3 }),
    );
    const values = fc.record(
      {
        id: fc.oneof(fc.constant(ID), some),
        anything: some,
        limit: some,
        tags: some,
        note: some,
        numbers: some,
      },
      { requiredKeys: [] },
    );
    let kept = 0;
    fc.assert(
      fc.property(values, given => {
        const instance = of(Flat, given);
        const keeps = keepsRules(instance);
        if (keeps) kept += 1;
        expect(keeps).toBe(findings(instance).length === 0);
      }),
      { numRuns: 2000 },
    );
    expect(kept).toBeGreaterThan(10);
  });

  it('is left to class-validator where another instance is in it', () => {
    expect(keepsRules(of(Nested, { id: ID }))).toBe(true);
    expect(keepsRules(of(Nested, { id: ID, inner: of(Inner, { name: 'x' }) }))).toBe(false);
    expect(keepsRules(of(class Plain {}, {}))).toBe(false);
  });
});
