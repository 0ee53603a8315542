import { ModelRegistry } from './model-registry.js';

const OLLAMA = { name: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1', models: ['qwen3', 'org/llama'] };

describe('the model registry', () => {
  it('knows the demo model alone when nothing is configured', () => {
    const registry = new ModelRegistry({});
    expect(registry.list().map(model => model.id)).toEqual(['atelier/demo']);
    expect(registry.defaultId()).toBe('atelier/demo');
    expect(registry.find('atelier/demo')?.modelId).toBe('demo');
    expect(registry.find('openai/gpt-6.1-sol')).toBeUndefined();
  });

  it('lists the models of configured providers, the demo model last', () => {
    const registry = new ModelRegistry({
      openai: { apiKey: 'k' },
      google: { apiKey: 'k' },
      compatible: [OLLAMA],
    });
    const ids = registry.list().map(model => model.id);
    expect(new Set(registry.list().map(model => model.provider))).toEqual(
      new Set(['openai', 'google', 'ollama', 'atelier']),
    );
    expect(ids).toContain('ollama/org/llama');
    expect(ids.at(-1)).toBe('atelier/demo');
    expect(registry.defaultId()).toBe(ids[0]);
    expect(ids.filter(id => !registry.find(id))).toEqual([]);
  });

  it('finds models that no list names, as long as their provider is configured', () => {
    const registry = new ModelRegistry({ anthropic: { apiKey: 'k' }, compatible: [OLLAMA] });
    expect(registry.find('anthropic/claude-next')?.modelId).toBe('claude-next');
    expect(registry.find('ollama/a/b:c')?.modelId).toBe('a/b:c');
    expect(registry.describe('anthropic/claude-next')).toEqual({
      id: 'anthropic/claude-next',
      provider: 'anthropic',
      name: 'claude-next',
      context_window: null,
      price: null,
      input: ['image', 'pdf'],
    });
  });

  it('gives the same model each time, and forgets those that nobody lists', () => {
    const registry = new ModelRegistry({ compatible: [OLLAMA] });
    const model = registry.find('ollama/qwen3');
    expect(registry.find('ollama/qwen3')).toBe(model);
    for (let count = 0; count < 1_000; count++) registry.find(`ollama/made-up-${count}`);
    expect(registry.find('ollama/qwen3')).not.toBe(model);
  });

  it.each([
    '',
    'openai',
    'openai/',
    '/gpt',
    'atelier/other',
    'google/gemini',
    'constructor/x',
    '__proto__/x',
  ])('finds nothing for "%s"', id => {
    const registry = new ModelRegistry({ openai: { apiKey: 'k' } });
    expect(registry.find(id)).toBeUndefined();
    expect(registry.describe(id)).toBeUndefined();
  });

  it('takes the first listed model for the default, or the one that it is told', () => {
    const settings = { compatible: [OLLAMA] };
    expect(new ModelRegistry(settings).defaultId()).toBe('ollama/qwen3');
    expect(new ModelRegistry(settings, { default: 'ollama/own' }).defaultId()).toBe('ollama/own');
    expect(() => new ModelRegistry(settings, { default: 'openai/x' })).toThrow('"openai/x"');
  });

  it('lets the operator extend and override what is known about models', () => {
    const price = { input: 1, output: 2 };
    const registry = new ModelRegistry(
      { anthropic: { apiKey: 'k' } },
      {
        prices: {
          'anthropic/claude-sonnet-5-5': { price },
          'anthropic/claude-own': { context_window: 5_000, price: null },
          'openai/not-configured': { price },
        },
      },
    );
    expect(registry.describe('anthropic/claude-sonnet-5-5')).toMatchObject({
      context_window: 1_000_000,
      price: { input: 1, output: 2, cache_read: null, cache_write: null },
    });
    const ids = registry.list().map(model => model.id);
    expect(ids).toContain('anthropic/claude-own');
    expect(ids).not.toContain('openai/not-configured');
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each<[string, unknown]>([
    ['a price below zero', { 'openai/m': { price: { input: -1, output: 1 } } }],
    ['a price without output', { 'openai/m': { price: { input: 1 } } }],
    ['a price in words', { 'openai/m': { price: { input: '1', output: 1 } } }],
    ['an unknown field', { 'openai/m': { prize: null } }],
    ['an id without a provider', { openai: {} }],
    ['a list', []],
    ['an entry that is none', { 'openai/m': 3 }],
  ])('refuses a price table with %s', (_name, prices) => {
    expect(() => Reflect.construct(ModelRegistry, [{}, { prices }])).toThrow(/rice table/);
  });

  it.each([
    ['an empty key', { openai: { apiKey: ' ' } }],
    ['a base URL that is none', { openai: { apiKey: 'k', baseUrl: 'localhost' } }],
    ['a base URL of another scheme', { compatible: [{ ...OLLAMA, baseUrl: 'file:///etc' }] }],
    ['a reserved name', { compatible: [{ ...OLLAMA, name: 'openai' }] }],
    ['the name of the demo provider', { compatible: [{ ...OLLAMA, name: 'atelier' }] }],
    ['a name with a slash', { compatible: [{ ...OLLAMA, name: 'a/b' }] }],
    ['a name used twice', { compatible: [OLLAMA, OLLAMA] }],
  ])('refuses settings with %s', (_name, settings) => {
    expect(() => new ModelRegistry(settings)).toThrow(/model provider/);
  });
});
