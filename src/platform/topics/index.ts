export { Subscription } from './subscription.js';
export { defineTopic, notifyTopic, type Topic } from './topic.js';
export { Topics } from './topics.js';
