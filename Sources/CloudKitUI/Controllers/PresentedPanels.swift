import CloudKit

/// The panels of this process that are open.
@MainActor
enum PresentedPanels {
    private static var open: [SharingPanel] = []

    /// Shows a panel until it is closed.
    ///
    /// - Throws: ``SharingPanelError``, also for a second panel of a share.
    static func present(_ panel: SharingPanel, on display: SharingPanelDisplay) async throws {
        if let share = panel.share, open.contains(where: { $0.isPanel(of: share, in: panel) }) {
            throw SharingPanelError.alreadyPresented
        }
        open.append(panel)
        defer {
            panel.close()
            open.removeAll { $0 === panel }
        }
        try await display.show(panel)
    }
}

extension SharingPanel {
    fileprivate func isPanel(of share: CKShare, in other: SharingPanel) -> Bool {
        guard let mine = subject, let others = other.subject else { return false }
        return mine.share.recordID == share.recordID && mine.container.isSamePlace(as: others.container)
    }
}
