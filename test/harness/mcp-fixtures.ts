import { EventEmitter } from 'node:events';
import {
  type CallToolResult,
  inputRequired,
  type Prompt,
  type ReadResourceResult,
  type ServerEvent,
  type Tool,
} from '@modelcontextprotocol/server';
import type { McpExtension } from '../../src/surfaces/mcp/index.js';
import type { Json } from './client.js';

type McpTool = McpExtension['tools'][number];
type Dialogue = Parameters<McpTool['call']>[2];
type Answer = ReturnType<McpTool['call']>;

/** One red pixel, and no sound at all. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });
const noInput: Json = { type: 'object', properties: {} };

function tool(
  name: string,
  call: (dialogue: Dialogue, input: Json) => Answer,
  inputSchema: Json = noInput,
): McpTool {
  const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  return {
    toolset: 'actions',
    definition: {
      name,
      title: name,
      description: `What the conformance suite calls ${name}.`,
      inputSchema: inputSchema as Tool['inputSchema'],
      annotations: { title: name, ...hints },
    },
    call: (_call, input, dialogue) => call(dialogue, input),
  };
}

const form = (message: string, properties: Json, required: string[] = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });

const sample = (prompt: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens,
  });

/** A tool that asks the same thing until it has an answer of the right kind. */
const asking = (
  name: string,
  key: string,
  question: (input: Json) => Json,
  done: (answer: Json) => string,
  isAnswer: (answer: Json) => boolean = answer => answer?.action !== undefined,
  inputSchema: Json = noInput,
): McpTool =>
  tool(
    name,
    async ({ answers }, input) => {
      const answer = answers[key] as Json;
      return isAnswer(answer)
        ? text(done(answer))
        : inputRequired({ inputRequests: { [key]: question(input) } });
    },
    inputSchema,
  );

const says = (properties: Json): Json => ({ type: 'object', properties, required: Object.keys(properties) });
const STRING = { type: 'string' };

const contents: McpTool[] = [
  tool('test_simple_text', async () => text('This is a simple text response for testing.')),
  tool('test_image_content', async () => ({
    content: [{ type: 'image', data: PNG, mimeType: 'image/png' }],
  })),
  tool('test_audio_content', async () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  })),
  tool('test_embedded_resource', async () => ({
    content: [
      {
        type: 'resource',
        resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'An embedded resource.' },
      },
    ],
  })),
  tool('test_multiple_content_types', async () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  })),
  tool('test_error_handling', async () => ({
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  })),
  tool('json_schema_2020_12_tool', async () => text('called'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', ...says({ street: STRING, city: STRING }), required: [] } },
    properties: {
      name: STRING,
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: STRING,
      email: STRING,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
];

const telling: McpTool[] = [
  tool('test_tool_with_logging', async ({ log }) => {
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
      await log('info', said);
    return text('Logged');
  }),
  tool('test_logging_tool', async ({ log }) => {
    await log('info', 'Nobody asked for this');
    return text('Logged');
  }),
  tool('test_tool_with_progress', async ({ notify, progressToken }) => {
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    return text(String(progressToken));
  }),
];

const defaults: Json = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const titled = (...titles: string[]) => titles.map((title, at) => ({ const: `value${at + 1}`, title }));
const enums: Json = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('First Option', 'Second Option', 'Third Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') } },
};

const outcome = ({ action, content }: Json) =>
  `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;

const asked: McpTool[] = [
  asking(
    'test_sampling',
    'reply',
    ({ prompt }) => sample(prompt, 100),
    ({ content }) => `LLM response: ${content.text}`,
    answer => answer?.content !== undefined,
    says({ prompt: STRING }),
  ),
  asking(
    'test_elicitation',
    'person',
    ({ message }) => form(message, { username: STRING, email: STRING }),
    outcome,
    undefined,
    says({ message: STRING }),
  ),
  asking('test_elicitation_sep1034_defaults', 'form', () => form('Please review', defaults, []), outcome),
  asking('test_elicitation_sep1330_enums', 'form', () => form('Please choose', enums, []), outcome),
  asking('test_streaming_elicitation', 'form', () => form('Go on?', { ok: { type: 'boolean' } }), outcome),
  asking(
    'test_missing_capability',
    'reply',
    () => sample('Hello', 10),
    () => 'It was not missing',
    answer => answer?.content !== undefined,
  ),
  asking(
    'test_input_required_result_elicitation',
    'user_name',
    () => form('What is your name?', { name: STRING }),
    ({ content }) => `Hello, ${content.name}!`,
    answer => typeof answer?.content?.name === 'string',
  ),
  asking(
    'test_input_required_result_sampling',
    'capital_question',
    () => sample('What is the capital of France?', 100),
    ({ content }) => content.text,
    answer => typeof answer?.content?.text === 'string',
  ),
  asking(
    'test_input_required_result_list_roots',
    'client_roots',
    () => inputRequired.listRoots(),
    ({ roots }) => roots.map(({ uri }: Json) => uri).join(' '),
    answer => Array.isArray(answer?.roots),
  ),
  tool('test_input_required_result_capabilities', async ({ capabilities, answers }) => {
    if (Object.keys(answers).length > 0) return text('Answered');
    return inputRequired({
      inputRequests: {
        ...(capabilities.elicitation && { name: form('Your name?', { name: STRING }) }),
        ...(capabilities.sampling && { greeting: sample('Greet me', 50) }),
      },
    });
  }),
];

const confirm = () => form('Please confirm', { ok: { type: 'boolean' } });

const remembering: McpTool[] = [
  tool('test_input_required_result_request_state', async ({ answers, memory, remember }) =>
    answers.confirm && memory<Json>()?.asked
      ? text('state-ok')
      : inputRequired({
          inputRequests: { confirm: confirm() },
          requestState: await remember({ asked: true }),
        }),
  ),
  tool('test_input_required_result_tampered_state', async ({ answers, memory, remember }) =>
    answers.confirm && memory<Json>()?.asked
      ? text('Not tampered with')
      : inputRequired({
          inputRequests: { confirm: confirm() },
          requestState: await remember({ asked: true }),
        }),
  ),
  tool('test_input_required_result_multiple_inputs', async ({ answers, remember }) =>
    answers.user_name && answers.greeting && answers.client_roots
      ? text('All three were answered')
      : inputRequired({
          inputRequests: {
            user_name: form('What is your name?', { name: STRING }),
            greeting: sample('Generate a greeting', 50),
            client_roots: inputRequired.listRoots(),
          },
          requestState: await remember({ asked: 3 }),
        }),
  ),
  tool('test_input_required_result_multi_round', async ({ answers, memory, remember }) => {
    const { name } = memory<Json>() ?? {};
    if (name && answers.step2) return text(`${name} likes ${JSON.stringify(answers.step2)}`);
    if (answers.step1)
      return inputRequired({
        inputRequests: { step2: form('Step 2: What is your favorite color?', { color: STRING }) },
        requestState: await remember({ name: (answers.step1 as Json).content?.name ?? 'Somebody' }),
      });
    return inputRequired({
      inputRequests: { step1: form('Step 1: What is your name?', { name: STRING }) },
      requestState: await remember({ step: 1 }),
    });
  }),
];

const STATIC: Record<string, ReadResourceResult['contents'][number]> = {
  'static-text': {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'static-binary': { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
  'watched-resource': { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watched' },
};

function readResource(uri: string): ReadResourceResult | undefined {
  const [, name = ''] = /^test:\/\/([\w-]+)$/.exec(uri) ?? [];
  if (STATIC[name]) return { contents: [STATIC[name]] };
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return undefined;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] };
}

const required = (...names: string[]) => names.map(name => ({ name, description: name, required: true }));
const PROMPTS: Prompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt' },
  { name: 'test_prompt_with_arguments', description: 'Arguments', arguments: required('arg1', 'arg2') },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A resource',
    arguments: required('resourceUri'),
  },
  { name: 'test_prompt_with_image', description: 'An image' },
  { name: 'test_input_required_result_prompt', description: 'Asks first' },
];

const message = (content: Json) => ({ role: 'user' as const, content });
const words = (said: string) => message({ type: 'text', text: said });

function getPrompt(name: string, input: Record<string, string>, { answers }: Dialogue) {
  const { arg1, arg2, resourceUri = '' } = input;
  const resource = { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content.' };
  switch (name) {
    case 'test_simple_prompt':
      return { messages: [words('This is a simple prompt for testing.')] };
    case 'test_prompt_with_arguments':
      return { messages: [words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] };
    case 'test_prompt_with_embedded_resource':
      return { messages: [message({ type: 'resource', resource }), words('Please process it.')] };
    case 'test_prompt_with_image':
      return {
        messages: [message({ type: 'image', data: PNG, mimeType: 'image/png' }), words('Look at it.')],
      };
    case 'test_input_required_result_prompt':
      return answers.user_context
        ? { messages: [words(JSON.stringify(answers.user_context))] }
        : inputRequired({
            inputRequests: { user_context: form('What context?', { context: STRING }) },
          });
    default:
      return undefined;
  }
}

/** The tools, resources and prompts that the official conformance suite calls by name. */
export function conformanceFixtures(): McpExtension {
  const changes = new EventEmitter().setMaxListeners(0);
  const changing = (name: string, event: ServerEvent) =>
    tool(name, async () => {
      changes.emit('change', event);
      return text('Changed');
    });
  return {
    capabilities: { logging: {}, tools: { listChanged: true } },
    tools: [
      ...contents,
      ...telling,
      ...asked,
      ...remembering,
      changing('test_trigger_tool_change', { kind: 'tools_list_changed' }),
      changing('test_trigger_prompt_change', { kind: 'prompts_list_changed' }),
    ],
    resources: Object.entries(STATIC).map(([name, { uri, mimeType }]) => ({
      name,
      uri,
      mimeType,
      description: name,
    })),
    templates: [{ name: 'template', uriTemplate: 'test://template/{id}/data', description: 'By id' }],
    prompts: PROMPTS,
    readResource,
    getPrompt,
    watch: listener => {
      changes.on('change', listener);
      return () => changes.off('change', listener);
    },
  };
}
