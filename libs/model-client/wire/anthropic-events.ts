/** What is read of an event of Anthropic's messages. */
export interface AnthropicEvent {
  type?: string;
  index?: number;
  message?: AnthropicMessage;
  content_block?: AnthropicBlock;
  delta?: AnthropicDelta;
  usage?: AnthropicUsage;
  error?: AnthropicError;
}

export interface AnthropicMessage {
  id?: string | null;
  model?: string | null;
  usage?: AnthropicUsage;
  stop_reason?: string | null;
  content?: AnthropicBlock[] | null;
}

export interface AnthropicBlock {
  type?: string;
  id?: string;
  name?: string;
  input?: unknown;
  caller?: { type: string; tool_id?: string } | null;
  /** Of redacted thinking. */
  data?: string;
  /** Of a compaction that comes in one piece. */
  signature?: string | null;
  content?: string | null;
  /** Of a fallback to another model. */
  from?: unknown;
  to?: unknown;
}

export interface AnthropicDelta {
  type?: string;
  text?: string;
  thinking?: string;
  signature?: string;
  partial_json?: string;
  content?: string | null;
  citation?: unknown;
  stop_reason?: string | null;
}

export interface AnthropicUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  output_tokens_details?: { thinking_tokens?: number | null } | null;
  cache_creation_input_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  iterations?: { type: string; input_tokens: number; output_tokens: number }[] | null;
}

export interface AnthropicError {
  type?: string;
  message?: string;
  code?: string | number | null;
  statusCode?: number | null;
}
