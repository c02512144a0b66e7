import CloudKit
import CloudKitTesting
import Foundation

@testable import CloudKitUI

/// Three users of one cloud: Ada owns a shopping list, Ben and Cat may be invited.
struct ShoppingHousehold: Sendable {
    static let container = "iCloud.com.example.shopping"

    let cloud: TestCloud
    let devices: [String: TestDevice]
    let ada: CKContainer
    let ben: CKContainer
    let cat: CKContainer

    static func run(_ body: @MainActor (ShoppingHousehold) async throws -> Void) async throws {
        try await TestCloud.run { cloud in
            var devices: [String: TestDevice] = [:]
            var containers: [String: CKContainer] = [:]
            for name in ["ada", "ben", "cat"] {
                let device = try await cloud.user(name).device()
                devices[name] = device
                containers[name] = try await device.container(container)
            }
            guard let ada = containers["ada"], let ben = containers["ben"], let cat = containers["cat"] else { return }
            try await body(ShoppingHousehold(cloud: cloud, devices: devices, ada: ada, ben: ben, cat: cat))
        }
    }

    /// A list that is not shared yet.
    func makeList(_ name: String = "List") async throws -> CKRecord {
        let zone = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Shopping")).zoneID
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        list["title"] = "Groceries"
        return try await ada.privateCloudDatabase.save(list)
    }

    /// A list with a share that nobody was invited to.
    func makeShare(
        _ name: String = "List", _ prepare: @Sendable (CKShare) -> Void = { _ in }
    ) async throws -> CKShare {
        let list = try await makeList(name)
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        prepare(share)
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
        return share
    }

    /// The share as the cloud has it for Ada.
    func current(_ share: CKShare) async throws -> CKShare {
        guard let current = try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare else {
            throw CKError(.unknownItem)
        }
        return current
    }

    /// Joins as another user, and returns the share as they see it.
    @discardableResult
    func join(_ link: URL?, as container: CKContainer) async throws -> CKShare {
        guard let link else { throw CKError(.unknownItem) }
        return try await container.accept(try await container.shareMetadata(for: link))
    }
}

/// An app below a panel, which notes what it hears.
@MainActor
final class RecordingClient: PanelClient {
    var prepare: () async throws -> (CKShare, CKContainer) = { throw SharingPanelError.nothingToShare }
    var title: String? = "Groceries"
    private(set) var events: [String] = []
    private(set) var errors: [any Error] = []
    private(set) var imagesAsked = 0

    func prepareShare() async throws -> (CKShare, CKContainer) {
        events.append("prepare")
        return try await prepare()
    }

    func introduction(isNew: Bool) -> PanelIntroduction {
        if isNew { imagesAsked += 1 }
        return PanelIntroduction(
            title: title, type: "com.example.list", thumbnail: isNew ? Data([0x89, 0x50, 0x4E, 0x47]) : nil)
    }

    func panelDidSave(_ share: CKShare) { events.append("saved") }

    func panelDidFail(_ error: any Error) {
        events.append("failed")
        errors.append(error)
    }

    func panelDidStopSharing(_ share: CKShare) { events.append("stopped") }
}

extension PanelContent {
    /// The identifier of a person by name.
    func id(of name: String) -> String {
        (people.first { $0.name == name || $0.address == name })?.id ?? requesters.first { $0.name == name }?.id
            ?? blocked.first { $0.name == name }?.id ?? earlier.first { $0.name == name }?.id ?? "nobody"
    }

    func person(_ name: String) -> Person? { people.first { $0.name == name || $0.address == name } }
}
