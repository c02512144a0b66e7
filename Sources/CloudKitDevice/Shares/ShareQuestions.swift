import CloudKitEncryption
import Foundation

/// The participants of shares for whom this device waits until its user confirms them, because only the cloud says that they
/// take part; a small value that a file in the profile's folder holds.
///
/// Apps write the questions, and `welkin share confirm` answers them.
package struct ShareQuestions: Hashable, Codable, Sendable {
    /// One participant, or a share's link.
    package struct Question: Hashable, Codable, Sendable {
        /// The share.
        package var share: RecordAddress
        /// The id of the participant; nil for the link, through which any user would get access.
        package var participant: String?
        /// The address by which the cloud names the participant, or the user record name.
        package var person: String?
        /// The identity that would get keys; nil if there is none yet.
        package var fingerprint: Fingerprint?
        /// A Boolean value that indicates whether the participant would be an administrator.
        package var isAdministrator: Bool
        /// A Boolean value that indicates whether the access includes changes.
        package var canWrite: Bool
        /// The name of the shared record; nil for a whole zone.
        package var root: String?

        /// Creates a value with the given properties.
        package init(
            share: RecordAddress, participant: String?, person: String? = nil, fingerprint: Fingerprint? = nil,
            isAdministrator: Bool = false, canWrite: Bool, root: String?
        ) {
            self.share = share
            self.participant = participant
            self.person = person
            self.fingerprint = fingerprint
            self.isAdministrator = isAdministrator
            self.canWrite = canWrite
            self.root = root
        }

        /// The container of the share.
        package var container: String { share.zone.container }
        /// The name of the share's zone.
        package var zoneName: String { share.zone.zone }
        /// The name of the share's record.
        package var shareName: String { share.name }
        /// The fingerprint in eight groups of four digits, for comparison by users.
        package var fingerprintText: String? { fingerprint?.description }
    }

    /// The questions without an answer.
    package private(set) var open: [Question] = []
    /// The questions that the user answered with yes.
    package private(set) var confirmed: [Question] = []

    /// Questions of a profile, at most; further ones are asked when others are answered.
    package static let questionsMax = 500

    /// Creates a value without questions.
    package init() {}

    /// Replaces the open questions of a share.
    package mutating func ask(_ questions: [Question], of share: RecordAddress) {
        open.removeAll { $0.share == share }
        open += questions.filter { !confirmed.contains($0) }.prefix(max(0, Self.questionsMax - open.count))
    }

    /// Confirms a question as it stands; a participant whom the cloud changes afterwards is asked about again.
    package mutating func confirm(_ question: Question) {
        open.removeAll { $0 == question }
        confirmed.removeAll { $0.share == question.share && $0.participant == question.participant }
        confirmed.append(question)
        confirmed = confirmed.suffix(Self.questionsMax)
    }

    /// Returns the answers that concern a share.
    package func confirmed(of share: RecordAddress) -> [Question] { confirmed.filter { $0.share == share } }

    /// Forgets the answers that concern a share, once a signed statement has them.
    package mutating func settle(_ share: RecordAddress) { confirmed.removeAll { $0.share == share } }
}

extension DeviceProfile {
    /// The file of the questions about shares; apps read and write it, too.
    package static let shareQuestionsFile = "share-questions.json"

    /// The questions about shares of this profile.
    package func shareQuestions() throws -> ShareQuestions {
        try PrivateFile.read(questionsFile, or: ShareQuestions())
    }

    /// Confirms questions about shares; an app gives keys to the participants when it next reads the share.
    package func confirm(_ questions: [ShareQuestions.Question]) throws {
        try PrivateFile.change(questionsFile, from: ShareQuestions()) { held in
            for question in questions { held.confirm(question) }
        }
    }

    private var questionsFile: String { folder + "/" + Self.shareQuestionsFile }
}
