import type { LanguageModelV4ToolCall } from '@ai-sdk/provider';
import { parseJson } from '#libs/exact-json/index.js';

export interface RequestedTool {
  id: string;
  tool: string;
  /** The arguments; where they are no JSON at all, the text that the model wrote. */
  input: unknown;
  /** Says what is wrong, to be given back to the model, when the arguments are not a JSON object. */
  invalid?: string;
}

/** Models write broken JSON now and then: that is an answer to the model, not a failure of the step. */
export function readToolCall(call: LanguageModelV4ToolCall): RequestedTool {
  const named = { id: call.toolCallId, tool: call.toolName };
  const text = call.input.trim();
  if (text === '') return { ...named, input: {} };
  let input: unknown;
  if (isDeep(text)) {
    const invalid = `The arguments of ${call.toolName} are nested more than ${MAX_DEPTH} deep. They were: ${shorten(text)}`;
    return { ...named, input: shorten(call.input), invalid };
  }
  try {
    input = parseJson(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const invalid = `The arguments of ${call.toolName} are not valid JSON (${reason}). They were: ${shorten(text)}`;
    return { ...named, input: call.input, invalid };
  }
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { ...named, input };
  const invalid = `The arguments of ${call.toolName} must be a JSON object. They were: ${shorten(text)}`;
  return { ...named, input, invalid };
}

/** As deep as requests to the service may be. */
const MAX_DEPTH = 100;

/** Whether a text is nested too deep for those who go through it level by level. */
function isDeep(json: string): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (isInText) {
      if (sign === '\\') at++;
      else if (sign === '"') isInText = false;
    } else if (sign === '"') isInText = true;
    else if (sign === '[' || sign === '{') {
      if (++depth > MAX_DEPTH) return true;
    } else if (sign === ']' || sign === '}') depth--;
  }
  return false;
}

function shorten(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
