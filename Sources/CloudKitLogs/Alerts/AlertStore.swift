/// Keeps the rules for alerts, and which alerts are under way.
package protocol AlertStore: Sendable {
    /// Returns the rules.
    ///
    /// - Throws: `AlertRuleList.Problem` for stored rules that cannot be used.
    func rules() throws -> AlertRuleList

    /// Replaces the rules.
    ///
    /// - Throws: `AlertRuleList.Problem` for rules that cannot be used.
    func write(_ list: AlertRuleList) throws

    /// Returns the alerts under way.
    func episodes() -> AlertEpisodes
}
