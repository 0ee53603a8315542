export { Subscription } from './subscription.js';
export { defineTopic, notifyTopic, type Topic, type TopicKind } from './topic.js';
export { Topics } from './topics.js';
