/** Models and typed clients send null for what they leave out. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fieldsOf } from '#libs/fields/index.js';
import { Toolbox } from '../../src/agents/tools/index.js';
import { apiDescription } from '../../src/api-description.js';
import { ActionCatalog, type CatalogAction } from '../../src/platform/actions/index.js';
import type { Json } from '../harness/client.js';
import { sampleInput } from '../harness/sample-input.js';
import { type Person, TestService } from '../harness/service.js';

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const document = await apiDescription();
const schemas = document.components?.schemas as Record<string, Json>;
const bodies = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Json>).flatMap(([method, operation]) => {
    const content = operation.requestBody?.content?.['application/json'];
    if (!content) return [];
    const shape = schemas[content.schema.$ref.split('/').at(-1)] as Json;
    const minimal: Json = content.examples.minimal.value;
    return [{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, shape, minimal }];
  }),
);
const optionalIn = ({ properties, required = [] }: Json): string[] =>
  Object.keys(properties).filter(name => !required.includes(name));

let service: TestService;
let owner: Person;
let actions: CatalogAction[];
let tools: Json[];

beforeAll(async () => {
  service = await TestService.start();
  owner = await service.person();
  actions = [...service.app.get(ActionCatalog, { strict: false }).list()];
  const workspace = await service.workspace(owner);
  tools = (await owner.client.get(`/api/workspaces/${workspace}/tools`)).body.items;
});
afterAll(() => service.stop());

describe('null for an optional field', () => {
  it.each(bodies.filter(({ shape }) => optionalIn(shape).length > 0))(
    'is accepted by $name, and described',
    async ({ method, path, shape, minimal }) => {
      const optional = optionalIn(shape).filter(name => !(name in minimal));
      for (const name of optional) {
        expect(shape.properties[name]).toMatchObject({ nullable: true, type: expect.any(String) });
        const { enum: values } = shape.properties[name];
        if (values) expect(values).toContain(null);
      }
      const nulls = Object.fromEntries(optional.map(name => [name, null]));
      const response = await owner.client.raw(method, path.replace(/\{\w+\}/g, ID), {
        body: JSON.stringify({ ...minimal, ...nulls }),
        headers: { 'content-type': 'application/json' },
      });
      const text = await response.text();
      for (const name of optional) expect(text).not.toMatch(new RegExp(`"detail":"${name}\\b[^"]* must `));
    },
  );

  it('leaves it out, in every action', () => {
    let tried = 0;
    for (const action of actions) {
      const { input } = action.declaration;
      if (!input) continue;
      const sample = sampleInput(action.describe() as Json, { workspace_id: ID });
      const read = (more: Json) => action.readInput({ ...sample, ...more }, null);
      for (const [name, { optional, nullable }] of fieldsOf(input)) {
        if (!optional || name in sample) continue;
        expect([action.name, read({ [name]: null })]).toEqual([
          action.name,
          nullable ? { ...read({}), [name]: null } : read({}),
        ]);
        if (!nullable) expect(read({ [name]: null })).not.toHaveProperty(name);
        tried++;
      }
    }
    expect(tried).toBeGreaterThan(50);
  });

  it('is valid by the schemas that agents and MCP clients get; answers have none', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const described = [...actions.map(action => action.describe() as Json), ...tools];
    for (const { name, input_schema } of described) {
      const sample = sampleInput({ input_schema }, { workspace_id: ID });
      const nulls = Object.fromEntries(
        Object.keys(input_schema.properties)
          .filter(field => !(input_schema.required ?? []).includes(field))
          .map(field => [field, null]),
      );
      const isValid = ajv.compile(input_schema);
      expect([name, isValid({ ...nulls, ...sample }), isValid.errors]).toEqual([name, true, null]);
    }
    const sent = actions.find(({ name }) => name === 'agent_send')?.describe() as Json;
    expect(JSON.stringify(sent.output_schema.properties.into_call_id)).not.toContain('null');
  });

  it('of a tool leaves it out, too', () => {
    const toolbox = service.app.get(Toolbox, { strict: false });
    const list = toolbox.find('list_files');
    expect(list?.check({ path: null }, ID)).toEqual(list?.check({}, ID));
  });
});

describe('null for what a program fills in', () => {
  it('is filled in', () => {
    const action = actions.find(({ name }) => name === 'file_list') as CatalogAction;
    expect(action.readInput({ workspace_id: null }, ID)).toMatchObject({ workspace_id: ID });
  });
});
