import { defineTopic } from '../../../platform/topics/index.js';

/** Something about a connector changed that calls go by: itself, its tools, its credentials, where it may be used. */
export const connectorTopic = defineTopic('connector');
