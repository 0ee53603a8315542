export type { Peer } from './peers.js';
export { TopicCache } from './topic-cache.js';
export { defineTopic, notifyTopic, Subscription, type Topic, Topics } from './topics.js';
