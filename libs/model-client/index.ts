export type { RetryPolicy } from './backoff.js';
export { CATALOGUE_DATE, type ModelInputKind } from './catalogue.js';
export { ContextWindow } from './context-window.js';
export { costUsd, type ModelPrice, type StepUsage } from './cost.js';
export type { StreamTimeouts } from './lifeline.js';
export { kindOf, mediaTypeOf } from './media-type.js';
export { ModelError, type ModelErrorKind } from './model-error.js';
export { type ModelInfo, ModelRegistry } from './model-registry.js';
export type { PriceTable } from './price-table.js';
export type { ProviderSettings } from './providers.js';
export { type StepRequest, streamStep } from './step.js';
export type { StepContentPart, StepDelta, StepFinishReason, StepResult } from './step-assembler.js';
export {
  summaryPrompt,
  type TranscriptEntry,
  transcriptOf,
  withoutMiddle,
  wrapSummary,
} from './summary.js';
export { countTokens } from './token-count.js';
export type { RequestedTool } from './tool-arguments.js';
