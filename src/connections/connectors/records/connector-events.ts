import { defineEvent } from '../../../platform/events/index.js';
import { defineTopic } from '../../../platform/topics/index.js';

/** Something about a connector changed that calls go by: itself, its tools, its credentials, where it may be used. */
export const connectorTopic = defineTopic('connector');

/** A server says something else of its tools than before. Names are cut to the first few. */
export const connectorToolsChanged = defineEvent<{
  connector_id: string;
  organization_id: string;
  /** Tells changes apart. */
  check_id: string;
  added: string[];
  changed: string[];
  removed: string[];
  instructions_changed: boolean;
}>('connector.tools_changed');
