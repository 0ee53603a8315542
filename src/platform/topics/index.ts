export type { Peer } from './peers.js';
export { TopicCache } from './topic-cache.js';
export { defineTopic, notifyTopic, Subscription, type Topic, type TopicKind, Topics } from './topics.js';
