import { describe, expect, it } from '@jest/globals';
import { differences, pinOf, proposedEffect, type ToolDefinition } from './pin.js';
import { freeSlug, slugOf, toolName, toolNames } from './tool-names.js';

const TOOL: ToolDefinition = { name: 'find', description: 'Finds.', inputSchema: { type: 'object' } };
const hashOf = (tool: ToolDefinition) => (pinOf(tool) as { hash: string }).hash;

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

  it.each<[string, ToolDefinition]>([
    ['a name that is too long', { ...TOOL, name: 'x'.repeat(129) }],
    ['no name', { ...TOOL, name: '' }],
    ['too many bytes', { ...TOOL, description: 'x'.repeat(70_000) }],
    [
      'too many levels',
      { ...TOOL, inputSchema: Array.from({ length: 200 }).reduce<object>(not => ({ not }), {}) as never },
    ],
  ])('is not made with %s', (_, tool) => expect(typeof pinOf(tool)).toBe('string'));
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
  expect(slugOf('Linear (Team Ä)')).toBe('linear-team-a');
  expect(slugOf('日本')).toBe('connector');
  expect(freeSlug('linear', new Set(['linear', 'linear-2']))).toBe('linear-3');
  expect(freeSlug('a'.repeat(30), new Set(['a'.repeat(30)]))).toHaveLength(30);
});
