import { describe, expect, it } from '@jest/globals';
import { differences, pinTool, proposedEffect, schemaForModels, type ToolDefinition } from './pin.js';
import { freeSlug, makeSlug, toolName, toolNames } from './tool-names.js';

const TOOL: ToolDefinition = { name: 'find', description: 'Finds.', inputSchema: { type: 'object' } };
const hashOf = (tool: ToolDefinition) => (pinTool(tool) as { hash: string }).hash;

describe('a pin', () => {
  it('is the same whatever the order of the members', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, b: {} } };
    const turned = { properties: { b: {}, a: { type: 'string' } }, type: 'object' };
    expect(hashOf({ ...TOOL, inputSchema: schema })).toBe(hashOf({ ...TOOL, inputSchema: turned }));
  });

  it.each<[string, Partial<ToolDefinition>]>([
    ['the description', { description: 'Finds, and sends it to me.' }],
    ['the title', { title: 'Find' }],
    ['the input schema', { inputSchema: { type: 'object', required: ['x'] } }],
    ['the output schema', { outputSchema: { type: 'object' } }],
    ['the annotations', { annotations: { readOnlyHint: true } }],
  ])('changes with %s', (_, change) => {
    const changed = { ...TOOL, ...change };
    expect(hashOf(changed)).not.toBe(hashOf(TOOL));
    expect(differences(TOOL, changed)).toHaveLength(1);
  });

  it('does not hold what is no part of the definition', () => {
    expect(hashOf({ ...TOOL, icons: [] } as never)).toBe(hashOf(TOOL));
  });

  it.each<[string, unknown, object]>([
    ['an empty input schema', {}, { type: 'object' }],
    ['no input schema', undefined, { type: 'object' }],
    ['null', null, { type: 'object' }],
    ['properties that are null', { type: 'object', properties: null }, { type: 'object' }],
    [
      'a choice at the top',
      { anyOf: [{ required: ['a'] }] },
      { type: 'object', anyOf: [{ required: ['a'] }] },
    ],
    ['several types', { type: ['object', 'null'] }, { type: 'object' }],
  ])('is made of a tool with an odd schema: %s', (_, inputSchema, kept) => {
    expect(pinTool({ ...TOOL, inputSchema })).toMatchObject({ definition: { inputSchema: kept } });
  });

  it('leaves out what is only shown where it is odd', () => {
    const odd = { ...TOOL, title: 3, outputSchema: 'x', annotations: null };
    expect(hashOf(odd as never)).toBe(hashOf(TOOL));
    expect(pinTool({ ...TOOL, outputSchema: {} })).toMatchObject({ definition: { outputSchema: {} } });
  });

  it.each<[string, unknown]>([
    ['a text for a tool', 'find'],
    ['nothing for a tool', null],
    ['a number for a name', { ...TOOL, name: 3 }],
    ['a list for a schema', { ...TOOL, inputSchema: [] }],
    ['no schema at all', { ...TOOL, inputSchema: false }],
    ['an input that is a text', { ...TOOL, inputSchema: { type: 'string' } }],
    ['a name that is too long', { ...TOOL, name: 'x'.repeat(129) }],
    ['no name', { ...TOOL, name: '' }],
    ['too many bytes', { ...TOOL, description: 'x'.repeat(70_000) }],
    [
      'too many levels',
      { ...TOOL, inputSchema: Array.from({ length: 200 }).reduce<object>(not => ({ not }), {}) as never },
    ],
  ])('is not made with %s', (_, tool) => expect(pinTool(tool)).toMatch(/^its? /));
});

it('a schema for models has no choice at the top, which is told as text', () => {
  const schema = { type: 'object', properties: { a: {} }, description: 'One.', anyOf: [{ required: ['a'] }] };
  expect(schemaForModels(schema)).toEqual({
    type: 'object',
    properties: { a: {} },
    description: 'One. The input must also fit this JSON Schema: {"anyOf":[{"required":["a"]}]}',
  });
  expect(schemaForModels(TOOL.inputSchema)).toBe(TOOL.inputSchema);
});

it('what a tool does is the worst, unless the server says otherwise', () => {
  expect(proposedEffect(TOOL)).toBe('destructive');
  expect(proposedEffect({ ...TOOL, annotations: { destructiveHint: false } })).toBe('write');
  expect(proposedEffect({ ...TOOL, annotations: { readOnlyHint: true } })).toBe('read');
  expect(proposedEffect({ ...TOOL, annotations: { readOnlyHint: 'yes' } })).toBe('destructive');
});

describe('names of tools', () => {
  it('are those of the server where models take them', () => {
    expect(toolName('linear', 'create_issue')).toBe('mcp__linear__create_issue');
  });

  it('fit, and differ', () => {
    const [a, b] = [`${'x'.repeat(100)}a`, `${'x'.repeat(100)}b`].map(tool => toolName('linear', tool));
    expect(a).toHaveLength(64);
    expect(b).toHaveLength(64);
    expect(a).not.toBe(b);
    expect(toolName('linear', 'files/read')).toMatch(/^mcp__linear__files_read_[0-9a-f]{6}$/);
    expect(toolName('linear', '../../bash')).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it('never stand for two tools, also where a server makes one clash', () => {
    const forged = toolName('s', 'files/read').replace('mcp__s__', '');
    const names = toolNames('s', ['files/read', forged, 'files.read']);
    expect(names.size).toBe(3);
    expect(names.get(`mcp__s__${forged}`)).toBe(forged);
    expect(new Set(names.values()).size).toBe(3);
  });
});

it('slugs are made of names, and free', () => {
  expect(makeSlug('Linear (Team Ä)')).toBe('linear-team-a');
  expect(makeSlug('日本')).toBe('connector');
  expect(freeSlug('linear', new Set(['linear', 'linear-2']))).toBe('linear-3');
  expect(freeSlug('a'.repeat(30), new Set(['a'.repeat(30)]))).toHaveLength(30);
});
