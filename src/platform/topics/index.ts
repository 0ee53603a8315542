export { defineTopic, notifyTopic, Subscription, type Topic, type TopicKind, Topics } from './topics.js';
