import CloudKit
import CloudKitTesting
import CloudKitUI
import Foundation
import Synchronization
import Testing

/// What a person types into a text panel, and what it shows.
final class ScriptedPerson: Sendable {
    private let lines: Mutex<[String]>
    private let text = Mutex("")

    init(_ lines: [String]) { self.lines = Mutex(lines) }

    /// The text of the panel.
    var shown: String { text.withLock { $0 } }

    var display: SharingPanelDisplay {
        .text(
            readLine: { self.lines.withLock { $0.isEmpty ? nil : $0.removeFirst() } },
            write: { text in self.text.withLock { $0 += text } })
    }
}

/// The delegate of Apple's introductions, as an app writes it.
@MainActor
final class RecordingDelegate: NSObject, UICloudSharingControllerDelegate {
    private(set) var events: [String] = []

    func itemTitle(for csc: UICloudSharingController) -> String? { "Groceries" }
    func itemType(for csc: UICloudSharingController) -> String? { "com.example.list" }

    func itemThumbnailData(for csc: UICloudSharingController) -> Data? {
        events.append("thumbnail")
        return nil
    }

    func cloudSharingController(_ csc: UICloudSharingController, failedToSaveShareWithError error: any Error) {
        events.append("failed")
    }

    func cloudSharingControllerDidSaveShare(_ csc: UICloudSharingController) {
        events.append("saved \(csc.share?.participants.count ?? 0)")
    }

    func cloudSharingControllerDidStopSharing(_ csc: UICloudSharingController) { events.append("stopped") }
}

@MainActor
@Suite(.timeLimit(.minutes(20))) struct SharingControllerTests {
    @Test
    func `B-UI-02 B-UI-04 a person invites, changes, removes and stops in a terminal, and the delegate hears of it`()
        async throws
    {
        try await ShoppingHousehold.run { home in
            let delegate = RecordingDelegate()
            let controller = UICloudSharingController(share: try await home.makeShare(), container: home.ada)
            controller.delegate = delegate
            let person = ScriptedPerson([
                "help", "add ben@example.com view", "allow 2 change", "onetime", "qr", "remove 3", "yes", "remove 2",
                "no", "stop", "yes", "add more",
            ])
            try await controller.present(on: person.display)
            #expect(delegate.events == ["saved 2", "saved 2", "saved 3", "saved 2", "stopped"])
            for text in [
                "Groceries", "Shared by you", "ben@example.com can join now. Send them the link.",
                "ben@example.com can make changes now.", "█", "Nothing was changed.",
                "Nobody else can open this any more.",
            ] { #expect(person.shown.contains(text), "\(text)") }
            // Without a link, every line fits a terminal.
            for line in person.shown.split(separator: "\n") where !line.contains("://") && !line.contains("▀") {
                #expect(line.count <= 80 || line.contains("█"), "\(line)")
            }
        }
    }

    @Test func `B-UI-01 B-UI-04 the preparation handler saves root and share when people were chosen`() async throws {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let delegate = RecordingDelegate()
            let controller = UICloudSharingController { _, completion in
                let share = CKShare(rootRecord: list)
                let operation = CKModifyRecordsOperation(recordsToSave: [list, share], recordIDsToDelete: nil)
                operation.modifyRecordsResultBlock = { result in
                    switch result {
                    case .success: completion(share, home.ada, nil)
                    case .failure(let error): completion(nil, nil, error)
                    }
                }
                home.ada.privateCloudDatabase.add(operation)
            }
            controller.delegate = delegate
            controller.availablePermissions = [.allowPrivate, .allowReadWrite]
            #expect(controller.share == nil)
            let person = ScriptedPerson(["share ben@example.com", "done"])
            try await controller.present(on: person.display)
            #expect(delegate.events == ["thumbnail", "saved 2"])
            let share = try #require(controller.share)
            #expect(share.participants.last?.permission == .readWrite)
            #expect(share[CKShare.SystemFieldKey.title] as? String == "Groceries")
        }
    }

    @Test func `B-UI-04 a handler that gives an error, nothing or up is a failure that the delegate hears of`()
        async throws
    {
        let delegate = RecordingDelegate()
        for handler: UICloudSharingController.PreparationHandler in [
            { _, completion in completion(nil, nil, CKError(.quotaExceeded)) },
            { _, completion in completion(nil, nil, nil) },
            { _, _ in },
        ] {
            let controller = UICloudSharingController(preparationHandler: handler)
            controller.delegate = delegate
            let person = ScriptedPerson(["share", "done"])
            try await controller.present(on: person.display)
            #expect(person.shown.contains("Not done: "))
        }
        #expect(delegate.events.filter { $0 == "failed" }.count == 3)
    }

    @Test func `B-UI-05 the panel saves the share itself, and the app fetches it`() async throws {
        try await ShoppingHousehold.run { home in
            let share = try await home.makeShare()
            let controller = UICloudSharingController(share: share, container: home.ada)
            try await controller.present(on: ScriptedPerson(["add ben@example.com"]).display)
            #expect(share.participants.count == 1)
            #expect(controller.share?.participants.count == 2)
            #expect(try await home.current(share).participants.count == 2)
        }
    }

    @Test func `a second panel of a share in the same app is refused while the first is open`() async throws {
        try await ShoppingHousehold.run { home in
            let share = try await home.makeShare()
            let first = UICloudSharingController(share: share, container: home.ada)
            let second = UICloudSharingController(share: share, container: home.ada)
            let outcome = Mutex<SharingPanelError?>(nil)
            let display = SharingPanelDisplay.text(
                readLine: {
                    let person = ScriptedPerson([])
                    do { try await second.present(on: person.display) } catch let error as SharingPanelError {
                        outcome.withLock { $0 = error }
                    } catch {}
                    return nil
                }, write: { _ in })
            try await first.present(on: display)
            #expect(outcome.withLock { $0 } == .alreadyPresented)
            try await second.present(on: ScriptedPerson([]).display)
        }
    }

    @Test func `what was typed wrong changes nothing, and says what to type`() async throws {
        try await ShoppingHousehold.run { home in
            let controller = UICloudSharingController(share: try await home.makeShare(), container: home.ada)
            let delegate = RecordingDelegate()
            controller.delegate = delegate
            let person = ScriptedPerson([
                "destroy", "remove 1", "remove 9", "add", "add ben", "allow 2", "access everyone", "inviting 1 on",
                "requests perhaps", "approve 1", "\u{1B}[2J", "",
            ])
            try await controller.present(on: person.display)
            #expect(delegate.events.isEmpty)
            #expect(person.shown.contains("There is no command \u{201C}destroy\u{201D} here."))
            #expect(person.shown.contains("“ben” is no e-mail address"))
            #expect(person.shown.contains("Type: access invited|anyone-view|anyone-change"))
            #expect(!person.shown.contains("\u{1B}"))
        }
    }

    @Test func `access is opened and closed by word, after a question where people lose it`() async throws {
        try await ShoppingHousehold.run { home in
            let controller = UICloudSharingController(share: try await home.makeShare(), container: home.ada)
            let person = ScriptedPerson([
                "access anyone-view", "yes", "access anyone-change", "access invited", "no", "requests on",
            ])
            try await controller.present(on: person.display)
            #expect(controller.share?.publicPermission == .readWrite)
            #expect(controller.share?.allowsAccessRequests == true)
            #expect(person.shown.contains("Everyone who joined through the link loses access. Go on?"))
        }
    }
}

@MainActor
@Suite(.timeLimit(.minutes(20))) struct SharingServiceTests {
    /// The delegate of a Mac app.
    private final class Delegate: NSObject, NSCloudSharingServiceDelegate {
        private(set) var events: [String] = []
        private(set) var error: NSError?

        func options(
            for cloudKitSharingService: NSSharingService, share provider: NSItemProvider
        ) -> NSSharingService.CloudKitOptions { [.allowPrivate, .allowReadOnly] }

        func sharingService(_ sharingService: NSSharingService, didSave share: CKShare) { events.append("saved") }
        func sharingService(_ sharingService: NSSharingService, didStopSharing share: CKShare) {
            events.append("stopped")
        }

        func sharingService(_ sharingService: NSSharingService, didCompleteForItems items: [Any], error: (any Error)?) {
            events.append("completed")
            self.error = error.map { $0 as NSError }
        }
    }

    @Test func `B-UI-03 B-UI-04 a service shares a registered share with its delegate's options`() async throws {
        try await ShoppingHousehold.run { home in
            let provider = NSItemProvider()
            provider.registerCloudKitShare(try await home.makeShare(), container: home.ada)
            let service = try #require(NSSharingService(named: .cloudSharing))
            let delegate = Delegate()
            service.delegate = delegate
            #expect(service.canPerform(withItems: [provider]))
            let person = ScriptedPerson(["add ben@example.com", "add cat@example.com change", "stop", "yes"])
            await service.present(items: [provider], on: person.display)
            #expect(delegate.events == ["saved", "stopped", "completed"])
            #expect(delegate.error == nil)
            #expect(person.shown.contains(PanelProblemText.notOffered))
        }
    }

    @Test func `B-UI-01 a registered handler is asked for the share, and its failure is the service's error`()
        async throws
    {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let service = try #require(NSSharingService(named: .cloudSharing))
            let delegate = Delegate()
            service.delegate = delegate
            let provider = NSItemProvider()
            provider.registerCKShare(container: home.ada) { throw CKError(.quotaExceeded) }
            await service.present(items: [provider], on: ScriptedPerson(["share"]).display)
            #expect(delegate.error?.code == NSCloudSharingQuotaExceededError)
            #expect(delegate.error?.domain == NSCocoaErrorDomain)
            provider.registerCKShare(container: home.ada) {
                let share = CKShare(rootRecord: list)
                _ = try await home.ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
                return share
            }
            await service.present(items: [provider], on: ScriptedPerson(["share ben@example.com"]).display)
            #expect(delegate.error == nil)
            #expect(delegate.events == ["completed", "saved", "completed"])
        }
    }

    @Test func `items without a share are refused`() async {
        let service = NSSharingService(named: .cloudSharing)
        #expect(service?.canPerform(withItems: []) == false)
        #expect(service?.canPerform(withItems: [NSItemProvider()]) == false)
        #expect(NSSharingService(named: .init(rawValue: "mail")) == nil)
        let delegate = Delegate()
        service?.delegate = delegate
        await service?.present(items: ["text"], on: ScriptedPerson([]).display)
        #expect(delegate.error?.code == NSCloudSharingOtherError)
    }

    @Test func `allowed options are copied and archived`() throws {
        let options = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .any)
        options.allowsAccessRequests = true
        let archive = try NSKeyedArchiver.archivedData(withRootObject: options, requiringSecureCoding: true)
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAllowedSharingOptions.self, from: archive))
        #expect(read == options)
        let copy = try #require(options.copy() as? CKAllowedSharingOptions)
        copy.allowsParticipantsToInviteOthers = true
        #expect(copy != options)
        #expect(CKAllowedSharingOptions.standard.allowedParticipantPermissionOptions == .any)
        #expect(CKSharingParticipantAccessOption.any.rawValue == 3)
    }
}

/// Sentences that several tests look for.
enum PanelProblemText {
    static let notOffered = "You may not do that with this share."
}
