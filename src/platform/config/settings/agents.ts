import {
  asInteger,
  asJsonFile,
  asNames,
  asText,
  asWebAddress,
  count,
  limits,
  optional,
  setting,
} from '#libs/env-settings/index.js';
import { asLimits } from './setting.js';

/** Runs of agents. */
export const runsSettings = {
  runConcurrency: setting(
    'RUN_CONCURRENCY',
    'Agent runs that one worker process executes at once.',
    asInteger(1, 1000),
    32,
  ),
  runLimits: limits('RUN_LIMITS', 'What one run of an agent may do.', {
    steps: count('model calls, unless its budget says less', 100, [1, 10_000]),
    task_depth: count('levels that agents may hand tasks down to subagents; 0: none', 2, [0, 10]),
    tasks: count('tasks that it may start in all, those of its tasks included', 200, [0, 1_000_000]),
    tasks_at_once: count('tasks that it has in flight at once; others wait their turn', 8, [1, 100]),
  }),
  drainSeconds: setting(
    'DRAIN_SECONDS',
    'How long SIGTERM waits for agents, scripts and deliveries in flight before they are handed back or ended.',
    asInteger(0, 3600),
    8,
  ),
} as const;

/** Models and who provides them. */
export const modelsSettings = {
  openaiApiKey: optional('OPENAI_API_KEY', 'Key for OpenAI.', asText),
  openaiBaseUrl: optional(
    'OPENAI_BASE_URL',
    'Another address of the OpenAI API, with its version: https://api.openai.com/v1.',
    asWebAddress('https://api.openai.com/v1'),
  ),
  anthropicApiKey: optional('ANTHROPIC_API_KEY', 'Key for Anthropic.', asText),
  anthropicBaseUrl: optional(
    'ANTHROPIC_BASE_URL',
    'Another address of the Anthropic API, with or without /v1: https://api.anthropic.com.',
    asWebAddress('https://api.anthropic.com'),
  ),
  googleApiKey: optional('GOOGLE_GENERATIVE_AI_API_KEY', 'Key for Google Gemini.', asText),
  googleBaseUrl: optional(
    'GOOGLE_BASE_URL',
    'Another address of the Gemini API, with or without /v1beta.',
    asWebAddress('https://generativelanguage.googleapis.com'),
  ),
  compatibleBaseUrl: optional(
    'OPENAI_COMPATIBLE_BASE_URL',
    'An OpenAI-compatible server (Ollama, vLLM …), e.g. http://127.0.0.1:11434/v1.',
    asWebAddress('http://127.0.0.1:11434/v1'),
  ),
  compatibleName: setting('OPENAI_COMPATIBLE_NAME', 'Provider part of its model ids.', asText, 'local'),
  compatibleApiKey: optional('OPENAI_COMPATIBLE_API_KEY', 'Key for it, where it wants one.', asText),
  compatibleModels: setting(
    'OPENAI_COMPATIBLE_MODELS',
    'Its models, separated by commas, e.g. llama4,qwen3.',
    asNames,
    [] as string[],
  ),
  defaultModel: optional(
    'DEFAULT_MODEL',
    'Model used when none is named, e.g. anthropic/claude-sonnet-4-5. Unset: the first configured one.',
    asText,
  ),
  modelPrices: optional(
    'MODEL_PRICES',
    'Path of a JSON file with your own prices (USD per million tokens) and context windows, e.g. {"local/llama4": {"price": {"input": 0.2, "output": 0.6}, "context_window": 131072}}.',
    asJsonFile,
  ),
  modelTimeoutSeconds: setting(
    'MODEL_TIMEOUT_SECONDS',
    'How long a model may be silent before its call counts as failed.',
    asInteger(1, 3600),
    120,
  ),
  modelConcurrency: setting(
    'MODEL_CONCURRENCY',
    'Most calls that all processes together make to a provider at once, e.g. anthropic=8,local=2; others wait their turn. Unset: any number.',
    asLimits,
    new Map<string, number>(),
  ),
} as const;
