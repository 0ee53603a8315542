/** What is read of an event of OpenAI's chat completions; every server leaves out or adds something. */
export interface ChatEvent {
  error?: unknown;
  id?: string | null;
  model?: string | null;
  created?: number | null;
  choices?: ({ delta?: ChatDelta | null; finish_reason?: string | null } | null)[] | null;
  usage?: ChatUsage | null;
}

export interface ChatDelta {
  content?: unknown;
  refusal?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: ChatToolCall[] | null;
}

export interface ChatToolCall {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null } | null;
  extra_content?: { google?: { thought_signature?: string | null } | null } | null;
}

export interface ChatUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}
