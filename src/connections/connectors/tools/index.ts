export {
  differences,
  nameOf,
  type Pin,
  pinOf,
  proposedEffect,
  schemaForModels,
  TOOL_EFFECTS,
  type ToolDefinition,
  type ToolEffect,
} from './pin.js';
export { CONNECTOR_TOOL, freeSlug, slugOf, toolNames } from './tool-names.js';
