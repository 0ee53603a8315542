import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import { DEMO_COMMANDS, type DemoCommand, readCommands } from './demo-commands.js';
import { isSummary, transcriptIn } from './summary.js';

export type DemoMove = { kind: 'call'; command: DemoCommand } | { kind: 'answer'; text: string };

const WHO =
  'I am atelier/demo, a built-in stand-in and no language model: I understand a few commands and nothing else.';
const QUOTE_LINES = 12;
const QUOTE_CHARACTERS = 800;

/**
 * The next move, read from the prompt alone: the last user message says what to do, the tool results behind
 * it say how much of that is done.
 */
export function planMove(prompt: LanguageModelV4Prompt, offered: ReadonlySet<string>): DemoMove {
  const transcript = transcriptIn(prompt);
  if (transcript !== undefined) return { kind: 'answer', text: sumUp(transcript) };
  const start = prompt.findLastIndex(message => message.role === 'user');
  const [summary, request] = userTexts(prompt, start);
  const commands = readCommands(request);
  const results = [...resultsIn(summary), ...toolResults(prompt.slice(start + 1))];
  const { next, done } = progressOf(
    commands.filter(({ tool }) => offered.has(tool)),
    results,
    offered,
  );
  if (next) return { kind: 'call', command: next };
  return { kind: 'answer', text: commands.length > 0 ? summarize(commands, done, offered) : explain() };
}

/** What a file that may not be overwritten unread is refused with. */
const UNREAD = 'has not read';

/** The call that is next, and the last result of each command that is done. A file that has to be read first is. */
function progressOf(
  commands: readonly DemoCommand[],
  results: readonly LanguageModelV4ToolResultOutput[],
  offered: ReadonlySet<string>,
): { next?: DemoCommand; done: LanguageModelV4ToolResultOutput[] } {
  const left = [...results];
  const done: LanguageModelV4ToolResultOutput[] = [];
  for (const command of commands) {
    const first = left.shift();
    if (!first) return { next: command, done };
    if (command.tool !== 'write_file' || !offered.has('read_file') || !outputText(first).includes(UNREAD)) {
      done.push(first);
      continue;
    }
    const { path = '' } = command.input;
    if (!left.shift()) return { next: { line: command.line, tool: 'read_file', input: { path } }, done };
    const again = left.shift();
    if (!again) return { next: command, done };
    done.push(again);
  }
  return { done };
}

/** The summary of what was done for a request before, where the message begins with one, and the request. */
function userTexts(prompt: LanguageModelV4Prompt, index: number): [summary: string, request: string] {
  const message = prompt[index];
  if (message?.role !== 'user') return ['', ''];
  const texts = message.content.map(part => (part.type === 'text' ? part.text : ''));
  const [summaries, others] = [
    texts.filter(isSummary),
    texts.filter(text => !isSummary(text) && !text.startsWith('<attachment ')),
  ];
  return [summaries.join('\n'), others.join('\n')];
}

const RESULTS = /^Results so far: (\d+)$/gm;

/** A summary that the demo can go on from: how many results the last request has by now. */
function sumUp(transcript: string): string {
  const request = Math.max(0, transcript.lastIndexOf('\n[user]\n'));
  const earlier = [...transcript.slice(request).matchAll(RESULTS)].map(([, count]) => Number(count));
  const results = [...transcript.slice(request).matchAll(/^\[result \S+\]$/gm)].length;
  return `${WHO}\n\nResults so far: ${results + (earlier.at(-1) ?? 0)}`;
}

/** Stand-ins for results that a summary has swallowed. */
function resultsIn(summary: string): LanguageModelV4ToolResultOutput[] {
  const count = Number([...summary.matchAll(RESULTS)].at(-1)?.[1] ?? 0);
  return Array.from({ length: count }, () => ({ type: 'text', value: '(summarized)' }));
}

function toolResults(messages: LanguageModelV4Prompt): LanguageModelV4ToolResultOutput[] {
  return messages.flatMap(message =>
    message.role === 'tool'
      ? message.content.flatMap(part => (part.type === 'tool-result' ? [part.output] : []))
      : [],
  );
}

function explain(): string {
  const commands = DEMO_COMMANDS.map(line => `- ${line}`).join('\n');
  return `${WHO}\n\nWrite one command a line, and I do them in order:\n\n${commands}\n\nFor real conversations, configure a model provider.`;
}

function summarize(
  commands: DemoCommand[],
  results: readonly LanguageModelV4ToolResultOutput[],
  offered: ReadonlySet<string>,
): string {
  const left = [...results];
  const reports = commands.map(({ line, tool }) => {
    if (!offered.has(tool)) return `\`${line}\`: not done, since the tool ${tool} is not offered here.`;
    const output = left.shift();
    return output
      ? `\`${line}\`${verdict(output)}:\n${quote(outputText(output))}`
      : `\`${line}\`: no result.`;
  });
  return [WHO, ...reports].join('\n\n');
}

function verdict(output: LanguageModelV4ToolResultOutput): string {
  if (output.type === 'execution-denied') return ' was denied';
  return output.type.startsWith('error') ? ' failed' : '';
}

function outputText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return typeof output.value === 'string' ? output.value : JSON.stringify(output.value, null, 2);
    case 'execution-denied':
      return output.reason ?? 'no reason was given';
    case 'content':
      return output.value.map(part => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
  }
}

function quote(text: string): string {
  const short = text.trimEnd().slice(0, QUOTE_CHARACTERS);
  const lines = short.split('\n').slice(0, QUOTE_LINES);
  if (lines.join('\n').length < text.trimEnd().length) lines.push('…');
  return lines.map(line => `> ${line}`).join('\n');
}
