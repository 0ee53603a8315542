import { randomUUID } from 'node:crypto';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { sampleOf } from './demo-json.js';
import { planMove } from './demo-plan.js';

export const DEMO_PROVIDER = 'atelier';
export const DEMO_NAME = 'demo';

const WORDS_A_DELTA = 12;

/**
 * No language model: it does what simple lines of the last user message ask for, one tool call a step, and
 * needs neither key nor network. Tokens are counted as words.
 */
export class DemoModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = DEMO_PROVIDER;
  readonly modelId = DEMO_NAME;
  readonly supportedUrls = {};

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { content, finishReason, usage } = await this.doGenerate(options);
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', modelId: this.modelId },
      ...content.flatMap(streamed),
      { type: 'finish', finishReason, usage },
    ];
    return { stream: ReadableStream.from(parts) };
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    options.abortSignal?.throwIfAborted();
    const offered = new Set(options.tools?.map(tool => tool.name));
    const move = planMove(options.prompt, offered);
    const content: LanguageModelV4Content =
      move.kind === 'answer'
        ? { type: 'text', text: answerTo(options, move.text) }
        : {
            type: 'tool-call',
            toolCallId: `demo_${randomUUID()}`,
            toolName: move.command.tool,
            input: JSON.stringify(move.command.input),
          };
    return {
      content: [content],
      finishReason: finish(content),
      usage: count(options, content),
      warnings: [],
    };
  }
}

/** Where JSON is asked for, a sample of it: it is as good as any other answer of a stand-in. */
function answerTo({ responseFormat }: LanguageModelV4CallOptions, text: string): string {
  return responseFormat?.type === 'json' ? JSON.stringify(sampleOf(responseFormat.schema)) : text;
}

function finish(content: LanguageModelV4Content): LanguageModelV4FinishReason {
  return { unified: content.type === 'tool-call' ? 'tool-calls' : 'stop', raw: undefined };
}

function streamed(content: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (content.type === 'text') {
    const id = 'text';
    const deltas = content.text.match(new RegExp(`(?:\\s*\\S+){1,${WORDS_A_DELTA}}\\s*`, 'g')) ?? [];
    return [
      { type: 'text-start', id },
      ...deltas.map(delta => ({ type: 'text-delta' as const, id, delta })),
      { type: 'text-end', id },
    ];
  }
  if (content.type !== 'tool-call') return [];
  const id = content.toolCallId;
  return [
    { type: 'tool-input-start', id, toolName: content.toolName },
    { type: 'tool-input-delta', id, delta: content.input },
    { type: 'tool-input-end', id },
    content,
  ];
}

function count(options: LanguageModelV4CallOptions, content: LanguageModelV4Content): LanguageModelV4Usage {
  const input = words(JSON.stringify(options.prompt));
  const output = words(content.type === 'text' ? content.text : JSON.stringify(content));
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function words(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}
