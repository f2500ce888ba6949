// The URLs of receivers that were written for other networks, with our macros.

/** Behind the path of a URL; docs/request-formats.md has them too, and says where they come from. */
export const presets: Record<string, string> = {
  'AdGate Media':
    '?conversion_id={RewardId}&user_id={PanelistId}&point_value={Reward}&usd_value={RevenueAmount}&offer_title={OfferTitle}&sig={QuerySignature}',
  'ayeT-Studios':
    '?network=ayetstudios&transaction_id={RewardId}&external_identifier={PanelistId}&amount={Reward}&payout_usd={RevenueAmount}&sig={QuerySignature}',
  BitLabs: '?uid={PanelistId}&val={Reward}&usd={RevenueAmount}&tx={RewardId}&hash={QuerySignature}',
  Monlix:
    '?userId={PanelistId}&transactionId={RewardId}&rewardValue={Reward}&payout={RevenueAmount}&taskName={OfferTitle}&sig={QuerySignature}',
  Pollfish: '/{PanelistId}?tx_id={RewardId}&reward_value={Reward}&signature={QuerySignature}',
  Tapjoy: '?id={RewardId}&snuid={PanelistId}&currency={Reward}&verifier={QuerySignature}',
};
