/** Settings that were accepted and change nothing, so that whoever set one can be told. Pure, no state. */
import { isKnownName } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import { dynamicDef, withoutListener } from './broker-settings.ts';
import { brokerDefault } from './effective.ts';
import { ResourceType } from './image.ts';
import { judge, type SettingDef } from './setting-values.ts';
import { TOPIC_SETTINGS } from './topic-settings.ts';

/** Whether a value that was set for a topic or a broker should change something, and does not. */
export function isIdle(resourceType: number, name: string, value: string): boolean {
  switch (resourceType) {
    case ResourceType.TOPIC: {
      const setting = TOPIC_SETTINGS.get(name);
      return setting !== undefined && !setting.acts && !isSame(name, setting, value, setting.default);
    }
    case ResourceType.BROKER: {
      const plain = withoutListener(name);
      if (!isKnownName(plain)) return false; // It is somebody's own.
      const fallback = brokerDefault(plain);
      if (SETTINGS.get(plain)?.acts === true) return false;
      return fallback === null || !isSame(plain, dynamicDef(plain), value, fallback);
    }
    default:
      return false;
  }
}

function isSame(name: string, def: SettingDef | null, value: string, fallback: string): boolean {
  const written = (text: string): string => {
    const judged = def === null ? null : judge(name, def, text);
    return judged !== null && 'text' in judged ? judged.text : text.trim();
  };
  return written(value) === written(fallback);
}
