// Numbers as text, exactly as Python writes them in pictures and tables (viz/text.py), and numbers from base64.

const MINUS_SIGN = "\u2212";

// toFixed and toExponential round to the nearest number, as Python does, but of two that are equally near they take
// the larger and Python takes the even one. Then the last digit shown, if it is odd, is one too high.
const evenDigit = (text, end) => {
  const digit = Number(text[end - 1]);
  return digit % 2 ? text.slice(0, end - 1) + (digit - 1) + text.slice(end) : text;
};

// Whether x >= 0 lies exactly halfway between two numbers with `decimals` digits after the point (before it, where
// negative). Such an x has one binary digit more after the point than they have decimals, and no fewer.
const isHalfway = (x, decimals) => {
  if (decimals >= 0) return (x * 2 ** (decimals + 1)) % 2 === 1;
  if (!Number.isInteger(x)) return false;
  const unit = 10n ** BigInt(-decimals);
  return BigInt(x) % unit === unit / 2n;
};

const fixedText = (x, decimals) => {
  const text = x.toFixed(decimals);
  return isHalfway(x, decimals) ? evenDigit(text, text.length) : text;
};

// The digits of x >= 0, "1.25", and its power of ten.
const digitsAndPower = (x, decimals) => {
  const text = x.toExponential(decimals);
  const end = text.indexOf("e");
  const power = Number(text.slice(end + 1));
  return [(isHalfway(x, decimals - power) ? evenDigit(text, end) : text).slice(0, end), power];
};

const powerText = (power) => `e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;

const withoutZeros = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

// Python's "g": x >= 0 in at most `digits` digits.
const generalText = (x, digits) => {
  if (x === 0) return "0";
  const [shown, power] = digitsAndPower(x, digits - 1);
  if (power < -4 || power >= digits) return withoutZeros(shown) + powerText(power);
  const all = shown.replace(".", "");
  if (power < 0) return withoutZeros(`0.${"0".repeat(-power - 1)}${all}`);
  return withoutZeros(`${all.slice(0, power + 1)}.${all.slice(power + 1)}`).replace(/\.$/, "");
};

const notFiniteText = (x) => (Number.isNaN(x) ? "nan" : x > 0 ? "inf" : `${MINUS_SIGN}inf`);

// With a fixed number of decimals where that reads well, else in powers of ten: −6.0000, 1.0e-09.
const numberText = (x, digits = 4) => {
  if (!Number.isFinite(x)) return notFiniteText(x);
  const size = Math.abs(x);
  const isPlain = size === 0 || (size >= Number(`1e-${digits}`) / 2 && size < 1e6);
  const inPowers = () => {
    const [shown, power] = digitsAndPower(size, Math.max(digits - 3, 1));
    return shown + powerText(power);
  };
  return (x < 0 ? MINUS_SIGN : "") + (isPlain ? fixedText(size, digits) : inPowers());
};

// In as few digits as show it, at most `digits`: −6, 0.25, 1.2e-07.
const shortText = (x, digits = 6) => {
  if (!Number.isFinite(x)) return notFiniteText(x);
  return (x < 0 ? MINUS_SIGN : "") + generalText(Math.abs(x), digits);
};

// The same with its sign, which 0 and nan have none of: +4, −6, 0.
const signedText = (x, digits = 6) => (x > 0 ? "+" : "") + shortText(x, digits);

// A count, with commas: 65,536.
const countText = (n) => n.toLocaleString("en-US");

// A single number as a quantity; see `scalar`. The texts are made when asked for: of a large graph few are ever seen.
class ScalarQuantity {
  constructor(value) {
    this.value = value;
    this.sign = Number.isNaN(value) ? null : Math.sign(value);
    if (!Number.isFinite(value)) this.odd = Object.freeze([Number.isNaN(value) ? "nan" : "inf"]);
    Object.freeze(this);
  }

  get text() {
    return numberText(this.value);
  }

  get short() {
    return shortText(this.value);
  }

  get chip() {
    return signedText(this.value, 4);
  }
}

const scalarQuantities = new Map();

// The quantity of x: equal numbers are the same object, nan too, and -0 is 0.
const scalar = (x) => {
  let quantity = scalarQuantities.get(x);
  if (!quantity) scalarQuantities.set(x, (quantity = new ScalarQuantity(x + 0)));
  return quantity;
};

// -- as it is typed -----------------------------------------------------------------------------------------

// A number that a reader typed, or that stands in an address; null where it is none.
const typedNumber = (text) => {
  const plain = text.trim().toLowerCase().replace(MINUS_SIGN, "-");
  const named = { inf: Infinity, "+inf": Infinity, "-inf": -Infinity, nan: NaN };
  if (Object.hasOwn(named, plain)) return named[plain];
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(plain)) return null;
  return Number.isFinite(Number(plain)) ? Number(plain) : null;
};

// The same the other way, with every digit: -0 and what is not finite too.
const typedText = (x) => {
  if (Object.is(x, -0)) return "-0";
  return Number.isFinite(x) ? String(x) : notFiniteText(x).replace(MINUS_SIGN, "-");
};

// -- from base64 --------------------------------------------------------------------------------------------

const unpackBytes = (base64) => {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
};

// Little-endian, as they are packed and as every browser's machine has them.
const unpackFloats = (base64) => new Float64Array(unpackBytes(base64));

const unpackInts = (base64) => new Int32Array(unpackBytes(base64));
