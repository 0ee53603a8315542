import { AnthropicLanguageModel } from '@ai-sdk/anthropic/internal';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { AnthropicReader } from './anthropic-reader.js';
import { Endpoint } from './connection.js';
import { NativeModel, type PreparedCall } from './native-model.js';

export interface AnthropicServer {
  /** Including the version segment. */
  baseURL: string;
  apiKey: string;
  /** For what is left to the SDK. */
  fetch: typeof fetch;
}

/** Models of Anthropic's messages. */
export function anthropicModels({ baseURL, apiKey: key, fetch }: AnthropicServer): {
  languageModel(id: string): NativeModel;
} {
  const headers = { 'anthropic-version': '2023-06-01', 'x-api-key': key };
  const config: Config = {
    provider: 'anthropic.messages',
    supportsMessageThreads: true,
    baseURL: versioned(baseURL.replace(/\/$/, '')),
    headers,
    fetch,
    supportedUrls: () => ({ 'image/*': [/^https?:\/\/.*$/], 'application/pdf': [/^https?:\/\/.*$/] }),
  };
  const url = `${config.baseURL}/messages`;
  const endpoint = new Endpoint(url);
  const counting = new Endpoint(`${url}/count_tokens`);
  return {
    languageModel: id =>
      new NativeModel(new AnthropicLanguageModel(id, config), {
        endpoint,
        headers,
        key,
        prepare: options => prepare(id, config, options),
        counting: { endpoint: counting, bodyOf: ({ body }) => counted(body) },
      }),
  };
}

type Config = ConstructorParameters<typeof AnthropicLanguageModel>[1];

async function prepare(
  modelId: string,
  config: Config,
  options: LanguageModelV4CallOptions,
): Promise<PreparedCall | undefined> {
  const userSuppliedBetas = betasOf(options.headers?.['anthropic-beta']);
  const request = await AnthropicLanguageModel.prepareRequest({
    modelId,
    config,
    options: { ...options, stream: true, userSuppliedBetas },
  });
  const { args, warnings, betas, usesJsonResponseTool } = request;
  if (usesJsonResponseTool || request.includePings || runsToolsItself(options, args)) return undefined;
  return {
    headers: betas.size > 0 ? { 'anthropic-beta': [...betas].join(',') } : {},
    body: args,
    warnings,
    reader: emit => new AnthropicReader(emit),
  };
}

/** What fills the window; the rest is refused where tokens are counted. */
function counted({ model, system, messages, tools, tool_choice, thinking }: Record<string, unknown>) {
  return { model, system, messages, tools, tool_choice, thinking };
}

/** Whether the provider may call tools of its own: the SDK knows a dozen kinds of results. */
function runsToolsItself({ tools }: LanguageModelV4CallOptions, args: object): boolean {
  return (
    tools?.some(({ type }) => type === 'provider') === true ||
    ('mcp_servers' in args && args.mcp_servers != null)
  );
}

function betasOf(header = ''): Set<string> {
  return new Set(
    header
      .toLowerCase()
      .split(',')
      .map(beta => beta.trim())
      .filter(Boolean),
  );
}

function versioned(url: string): string {
  return url === 'https://api.anthropic.com' ? `${url}/v1` : url;
}
