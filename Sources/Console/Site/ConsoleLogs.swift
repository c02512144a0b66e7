import CloudKitLogs

/// The log of requests and the rules for alerts, as the Console shows them.
package struct ConsoleLogs: Sendable {
    let store: any LogStore
    let alerts: any AlertStore

    /// Creates the source of the pages.
    package init(store: any LogStore, alerts: any AlertStore) {
        self.store = store
        self.alerts = alerts
    }

    /// The pages of logs, telemetry and alerts, in the order of the navigation.
    var pages: [any ConsolePage] {
        [
            LogsPage(store: store, isOfContainer: false), LogsPage(store: store, isOfContainer: true),
            LogEntryPage(store: store, isOfContainer: false), LogEntryPage(store: store, isOfContainer: true),
            TelemetryPage(store: store, isOfContainer: false), TelemetryPage(store: store, isOfContainer: true),
            AlertsPage(alerts: alerts),
        ]
    }
}
