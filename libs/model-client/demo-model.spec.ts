import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { recordStep, userPrompt } from '../../test/fakes/step-recorder.js';
import { DemoModel } from './demo-model.js';

const ALL = ['list_files', 'read_file', 'write_file', 'bash', 'search_files'];
const text = (value: string): LanguageModelV4ToolResultOutput => ({ type: 'text', value });

function tools(names: string[]): LanguageModelV4FunctionTool[] {
  return names.map(name => ({ type: 'function', name, inputSchema: { type: 'object' } }));
}

/** Runs the whole loop: every tool call is answered with the next output. */
async function run(prompt: LanguageModelV4Prompt, outputs: LanguageModelV4ToolResultOutput[], offered = ALL) {
  const calls: { tool: string; input: unknown }[] = [];
  const messages = [...prompt];
  for (;;) {
    const { result, deltas } = await recordStep(new DemoModel(), { prompt: messages, tools: tools(offered) });
    messages.push({ role: 'assistant', content: result.content });
    if (result.tool_calls.length === 0) return { calls, text: result.text, deltas, result, messages };
    for (const { id, tool, input } of result.tool_calls) {
      const output = outputs[calls.length] ?? text('ok');
      calls.push({ tool, input });
      messages.push({
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: id, toolName: tool, output }],
      });
    }
  }
}

describe('atelier/demo', () => {
  it.each<[string, string, unknown]>([
    ['list', 'list_files', { path: '.' }],
    ['List all files', 'list_files', { path: '.' }],
    ['list src/app', 'list_files', { path: 'src/app' }],
    ['READ notes.txt', 'read_file', { path: 'notes.txt' }],
    ['- read `my notes.txt`', 'read_file', { path: 'my notes.txt' }],
    ['write a/b.txt: Time: 10:30', 'write_file', { path: 'a/b.txt', content: 'Time: 10:30' }],
    ['write empty.txt:', 'write_file', { path: 'empty.txt', content: '' }],
    ['run echo "a  b" | wc -c', 'bash', { command: 'echo "a  b" | wc -c' }],
    ['2. search needle in hay', 'search_files', { query: 'needle in hay' }],
  ])('does "%s"', async (line, tool, input) => {
    expect((await run(userPrompt(line), [])).calls).toEqual([{ tool, input }]);
  });

  it.each(['list', 'read', 'write', 'run', 'search'])('is not stalled by blanks after %s', async verb => {
    for (const end of ['x', '\u2028x']) {
      const { calls } = await run(userPrompt(`${verb}${' '.repeat(100_000)}${end}`), []);
      expect(calls.length).toBe(verb === 'write' ? 0 : 1);
    }
  });

  it('does several lines in order, one a step, and quotes what came back', async () => {
    const prompt = userPrompt('Please:\nwrite a.txt: hello\r\nread a.txt\n\nrun false\nthank you');
    const outputs: LanguageModelV4ToolResultOutput[] = [
      { type: 'json', value: { bytes: 5 } },
      text('hello'),
      { type: 'error-text', value: 'exit code 1' },
    ];
    const { calls, text: summary, deltas, result } = await run(prompt, outputs);
    expect(calls.map(call => call.tool)).toEqual(['write_file', 'read_file', 'bash']);
    expect(summary).toContain('no language model');
    expect(summary).toContain('> hello');
    expect(summary).toContain('"bytes": 5');
    expect(summary).toContain('`run false` failed:\n> exit code 1');
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(delta => delta.text).join('')).toBe(summary);
    expect(result).toMatchObject({ finish_reason: 'stop', model_used: 'demo' });
  });

  it('shortens long results', async () => {
    const { text: summary } = await run(userPrompt('read big'), [text('line\n'.repeat(10_000))]);
    expect(summary.length).toBeLessThan(2_000);
    expect(summary).toContain('…');
  });

  it('heeds the last user message alone', async () => {
    const first = await run(userPrompt('read a\nread b'), []);
    const { calls } = await run([...first.messages, ...userPrompt('list')], []);
    expect(calls).toEqual([{ tool: 'list_files', input: { path: '.' } }]);
  });

  it('drops what was left to do when a new message comes in between', async () => {
    const { result } = await recordStep(new DemoModel(), {
      prompt: userPrompt('read a\nread b'),
      tools: tools(ALL),
    });
    const id = result.tool_calls[0]?.id ?? '';
    const prompt: LanguageModelV4Prompt = [
      ...userPrompt('read a\nread b'),
      { role: 'assistant', content: result.content },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: id, toolName: 'read_file', output: text('A') }],
      },
      ...userPrompt('read c'),
    ];
    expect((await run(prompt, [])).calls).toEqual([{ tool: 'read_file', input: { path: 'c' } }]);
  });

  it('says which tool it lacks and does the rest', async () => {
    const { calls, text: summary } = await run(userPrompt('run ls\nread a'), [text('A')], ['read_file']);
    expect(calls.map(call => call.tool)).toEqual(['read_file']);
    expect(summary).toContain('`run ls`: not done, since the tool bash is not offered here.');
    expect(summary).toContain('> A');
  });

  it.each(['Hello!', '', 'already reading', 'Summarize the list'])(
    'explains itself after "%s"',
    async message => {
      const { calls, text: answer } = await run(userPrompt(message), []);
      expect(calls).toEqual([]);
      for (const verb of ['list [PATH]', 'read PATH', 'write PATH: TEXT', 'run COMMAND', 'search TEXT']) {
        expect(answer).toContain(verb);
      }
      expect(answer).toContain('no language model');
    },
  );

  it('explains itself when there is no user message at all', async () => {
    const { result } = await recordStep(new DemoModel(), { prompt: [] });
    expect(result.text).toContain('no language model');
  });

  it('streams a tool call in the parts that providers use, and counts words', async () => {
    const { stream } = await new DemoModel().doStream({ prompt: userPrompt('read a'), tools: tools(ALL) });
    const parts: LanguageModelV4StreamPart[] = [];
    for await (const part of stream) parts.push(part);
    expect(parts.map(part => part.type)).toEqual([
      'stream-start',
      'response-metadata',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-end',
      'tool-call',
      'finish',
    ]);
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: 'tool-calls' },
      usage: { inputTokens: { total: expect.any(Number) }, outputTokens: { total: expect.any(Number) } },
    });
  });

  it('gives every call an id of its own', async () => {
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const { result } = await recordStep(new DemoModel(), {
          prompt: userPrompt('list'),
          tools: tools(ALL),
        });
        return result.tool_calls[0]?.id;
      }),
    );
    expect(new Set(ids).size).toBe(2);
  });

  it('does nothing when it is aborted', async () => {
    const signal = AbortSignal.abort();
    await expect(recordStep(new DemoModel(), { signal })).rejects.toMatchObject({ kind: 'aborted' });
  });
});
