import {
  createOpenAICompatible,
  type OpenAICompatibleChatLanguageModel,
  type OpenAICompatibleProvider,
} from '@ai-sdk/openai-compatible';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { ChatReader } from './chat-reader.js';
import { Endpoint } from './connection.js';
import { NativeModel, type PreparedCall } from './native-model.js';

export interface ChatServer {
  name: string;
  /** Including the version segment. */
  baseURL: string;
  apiKey?: string;
  /** For what is left to the SDK. */
  fetch: typeof fetch;
}

/** The models of such a server as the SDK has them. */
export function sdkChatModels(server: ChatServer): OpenAICompatibleProvider {
  // Without it most servers report no usage in a stream.
  return createOpenAICompatible({ ...server, includeUsage: true });
}

/** Models of a server that speaks OpenAI's chat completions. */
export function chatModels(server: ChatServer): { languageModel(id: string): NativeModel } {
  const sdk = sdkChatModels(server);
  const { name, baseURL, apiKey: key } = server;
  const endpoint = new Endpoint(`${baseURL.replace(/\/$/, '')}/chat/completions`);
  const headers = { authorization: key ? `Bearer ${key}` : undefined };
  return {
    languageModel(id) {
      const model = sdk.languageModel(id) as OpenAICompatibleChatLanguageModel;
      return new NativeModel(model, {
        endpoint,
        headers,
        key,
        prepare: options => prepare(model, name, options),
      });
    },
  };
}

async function prepare(
  model: OpenAICompatibleChatLanguageModel,
  name: string,
  options: LanguageModelV4CallOptions,
): Promise<PreparedCall> {
  const { body: prepared, warnings } = await model.prepareRequest(options);
  const body = { ...prepared, stream: true, stream_options: { include_usage: true } };
  const metadataKey = metadataKeyOf(name, options);
  return {
    body,
    text: textOf(body, options),
    warnings,
    reader: emit => new ChatReader(emit, metadataKey),
  };
}

/** The JSON of tools, which goes by nothing but the tool: most are the same from call to call. */
const toolTexts = new WeakMap<object, string>();

function textOf(
  { tools, ...rest }: Record<string, unknown>,
  { tools: given }: LanguageModelV4CallOptions,
): string {
  if (!given || !Array.isArray(tools) || tools.length !== given.length)
    return JSON.stringify({ ...rest, tools });
  const texts = given.map((tool, index) => {
    const text = toolTexts.get(tool) ?? JSON.stringify(tools[index]);
    toolTexts.set(tool, text);
    return text;
  });
  return `${JSON.stringify(rest).slice(0, -1)},"tools":[${texts.join(',')}]}`;
}

/** Under which name the SDK looks for what is given back: in camel case where the caller writes it so. */
function metadataKeyOf(name: string, { providerOptions }: LanguageModelV4CallOptions): string {
  const camelCase = name.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return providerOptions?.[camelCase] === undefined ? name : camelCase;
}
